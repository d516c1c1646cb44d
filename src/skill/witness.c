/* SPDX-License-Identifier: Apache-2.0 */
#include "skill/witness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "lineage/record.h"
#include "skill/lift_parts.h"
#include "skill/predicate.h"
#include "skill/witness_parts.h"

#define MAX_PLATFORMS 3		/* that lack a capability, of those the nearest */

static void clause_release(struct kl_witness_clause *c)
{
	free(c->text);
	free(c->event);
	free(c->at);
	free(c->why);
	kl_strvec_release(&c->plan);
}

void kl_witness_release(struct kl_witness *w)
{
	for (size_t i = 0; i < w->n; i++) {
		for (size_t k = 0; k < w->v[i].n; k++)
			clause_release(&w->v[i].clause[k]);
		free(w->v[i].clause);
		free(w->v[i].card);
		free(w->v[i].pre);
	}
	free(w->v);
	kl_strvec_release(&w->notes);
	free(w->cannot);
}

static void free_event(void *p)
{
	json_decref(p);
}

/* what belongs to one condition */
static void forget(struct kl_seeker *s)
{
	kl_clauses_release(&s->clauses);
	kl_keep_release(&s->keep);
	s->keep = (struct kl_keep){ 0 };
	kl_map_release(&s->events);
	s->events = (struct kl_map){ .free_value = free_event };
}

static void seeker_release(struct kl_seeker *s)
{
	forget(s);
	for (size_t i = 0; i < s->ngate; i++) {
		kl_gate_free(s->gate[i].gate);
		free(s->gate[i].platform);
	}
	free(s->gate);
	free(s->no_device);
	kl_card_free(s->card);
}

/* --- the gate ------------------------------------------------------------------------------ */

static int open_gate(struct kl_gate **out, struct kl_seeker *s, const char *platform)
{
	struct kl_gate *g = NULL;
	int err;

	for (size_t i = 0; i < s->ngate; i++)
		if (!strcmp(s->gate[i].platform, platform)) {
			*out = s->gate[i].gate;
			return 0;
		}
	/* how fast it is wrong nobody asks */
	err = kl_gate_open(&g, s->o->repo, &(struct kl_gate_opts){
		.progress = s->o->progress, .platform = *platform ? platform : NULL, .no_profile = true,
	});
	if (!err && kl_gate_is_remote(g)) {
		kl_gate_free(g);
		err = kl_error(KL_ECANNOT, "the gate judges elsewhere: witnesses are sought where it answers at "
			       "once");
	}
	if (err < 0)
		return err;
	KL_GROW(s->gate, s->ngate + 1, s->gate_alloc);
	s->gate[s->ngate++] = (struct kl_witness_gate){ kl_strdup(platform), g };
	*out = g;
	return 0;
}

/* no verdict here and now: the clause stays as it was, and so does what another kernel's pass would say */
static bool is_open(int err)
{
	return err == KL_ECANNOT || err == KL_ENO || err == KL_EINVALID;
}

static void leave_open(struct kl_witness_clause *c, const char *why)
{
	free(c->why);
	c->why = kl_strdup(why);
}

static int unsure(struct kl_seeker *s, struct kl_witness_clause *c, int err)
{
	if (!is_open(err))
		return err;
	if (err == KL_ECANNOT && strstr(kl_error_last(), "no GPU") && !s->no_device)
		s->no_device = kl_strdup(kl_error_last());
	if (err == KL_ECANNOT) {
		free(s->out->cannot);
		s->out->cannot = kl_strdup(kl_error_last());
	}
	c->unsure = true;
	leave_open(c, kl_error_last());
	kl_error_clear();
	return 0;
}

/* `*v` NULL: no verdict, and the clause says why */
static int judge(struct kl_verdict **v, struct kl_seeker *s, struct kl_witness_clause *c, struct kl_gate *g,
		 const struct kl_surface *surface)
{
	int err = 0;

	*v = NULL;
	if (s->out->runs >= s->o->limit) {
		s->out->limited = true;
		err = kl_error(KL_ENO, "the limit of %zu gate runs is reached", s->o->limit);
	} else if (s->no_device && kl_contract_is_cuda(surface->contract)) {
		err = kl_error(KL_ECANNOT, "%s", s->no_device);
	} else {
		err = kl_made_judge(v, g, surface, NULL, false);
	}
	if (err < 0)
		return unsure(s, c, err);
	s->out->runs += !(*v)->cached;
	s->out->verdicts++;
	if (!strcmp((*v)->verdict, "pass") || !strcmp((*v)->verdict, "fail"))
		return 0;
	c->unsure = true;
	leave_open(c, (*v)->message && *(*v)->message ? (*v)->message : (*v)->verdict);
	kl_verdict_free(*v);
	*v = NULL;
	return 0;
}

static bool passed(const struct kl_verdict *v)
{
	return !strcmp(v->verdict, "pass");
}

/* is what the card brings in the machine code? Of claims that only a reader can check nobody knows. */
bool kl_witness_is_there(const struct kl_card *c, const struct kl_strvec *features)
{
	size_t n = 0;

	for (size_t i = 0; i < c->provides.n; i++) {
		bool claim = !strncmp(c->provides.v[i], "trait:", 6);

		n += !claim;
		if (!claim && !kl_strvec_has(features, c->provides.v[i]))
			return false;
	}
	return n > 0;
}

/* --- outcomes ------------------------------------------------------------------------------------- */

static const git_oid *commit_of(const struct kl_transition *t)
{
	return kl_lift_is_verified(t) ? &t->rederived : &t->after;
}

static int fails(struct kl_seeker *s, struct kl_witness_clause *c, const struct kl_verdict *v, char *at)
{
	c->end = KL_WITNESS_FAILS;
	snprintf(c->class_, sizeof(c->class_), "%s", v->class_);
	free(c->event);
	c->event = kl_strdup(kl_record_id(v->event));
	free(c->at);
	c->at = at;
	kl_map_put(&s->events, c->event, json_incref(v->event));
	return 0;
}

/* the first one that shows it is named */
static int passes(struct kl_seeker *s, struct kl_witness_clause *c, const struct kl_verdict *v, char *at)
{
	if (!c->passes++) {
		c->event = kl_strdup(kl_record_id(v->event));
		c->at = kl_strdup(at);
		kl_map_put(&s->events, c->event, json_incref(v->event));
	}
	free(at);
	return 0;
}

/* --- dims: a contract that promises less ------------------------------------------------------------ */

/* where among the new points did it fail? -1: elsewhere; a launch fails before the first one */
static int where(const struct kl_widening *w, const struct kl_verdict *v)
{
	const json_t *failure = json_object_get(json_object_get(v->event, "correct"), "failure");

	if (!failure)
		return strcmp(v->class_, "launch") ? -1 : 0;
	return kl_widening_which(w, kl_json_str_or(failure, "point", ""));
}

static bool is_of_run(const char *class_)
{
	static const char *const of_run[] = {
		"launch", "hang", "fault", "wrong-all", "wrong-edge", "nondeterministic",
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(of_run); i++)
		if (!strcmp(class_, of_run[i]))
			return true;
	return false;
}

static bool may_count(struct kl_witness_clause *c, const struct kl_widening *w, const struct kl_verdict *v)
{
	if (!is_of_run(v->class_))
		leave_open(c, v->message);
	else if (!strcmp(v->class_, "launch") && strstr(v->message, "does not hold"))
		leave_open(c, "its launch plan itself refuses such a point: nothing was run");
	else if (where(w, v) < 0)
		leave_open(c, "it failed where the condition holds, too");
	else
		return true;
	return false;
}

/* the state before must be right there: it has all of the kernel but the step, and the same oracle */
static int control(struct kl_seeker *s, struct kl_witness_clause *c, struct kl_gate *g,
		   const struct kl_transition *t, const struct kl_widening *w, const struct kl_verdict *v)
{
	KL_AUTO(kl_verdict_freep) struct kl_verdict *before = NULL;
	int at = where(w, v), err = judge(&before, s, c, g, w->from);
	KL_AUTO(kl_freep) char *point = NULL;

	if (err < 0 || !before)
		return err;
	if (!passed(before) && where(w, before) <= at) {
		leave_open(c, "the state before the step fails there, too: it is not the step's need");
		return 0;
	}
	point = kl_witness_point_words(w->to->contract, &w->point[at]);
	if ((err = kl_witness_keep(s, t, commit_of(t), w->to, v, w->words)) < 0 ||
	    (err = kl_witness_keep(s, t, &t->before, w->from, before, w->words)) < 0)
		return err;
	return fails(s, c, v, kl_asprintf("%s K_%d at %s", t->lineage, t->step.number, point));
}

static int ask_points(struct kl_seeker *s, struct kl_witness_clause *c, const struct kl_transition *t,
		      struct kl_target *at, size_t i)
{
	KL_AUTO(kl_widening_release) struct kl_widening w = { 0 };
	KL_AUTO(kl_verdict_freep) struct kl_verdict *v = NULL;
	struct kl_gate *g = NULL;
	int err = kl_widen(&w, &(struct kl_widen_of){
		.to = t->to, .from = t->from, .at = at, .clauses = &s->clauses, .i = i,
	});

	if (err == KL_ENO) {	/* of this kernel there is nothing to ask */
		leave_open(c, kl_error_last());
		kl_error_clear();
		return 0;
	}
	if (err < 0)
		return err;
	kl_strvec_pushf(&c->plan, "%s K_%d at %s", t->lineage, t->step.number, w.words);
	if (s->o->dry)
		return 0;
	if ((err = open_gate(&g, s, "")) < 0)
		return unsure(s, c, err);
	if ((err = judge(&v, s, c, g, w.to)) < 0 || !v)
		return err;
	if (!passed(v))
		return may_count(c, &w, v) ? control(s, c, g, t, &w, v) : 0;
	if ((err = kl_witness_keep(s, t, commit_of(t), w.to, v, w.words)) < 0)
		return err;
	return passes(s, c, v, kl_asprintf("%s K_%d at %s", t->lineage, t->step.number, w.words));
}

/* --- capabilities: a platform that lacks one ---------------------------------------------------------- */

static size_t shared(const struct kl_taxonomy *tax, const struct kl_capset *a, const struct kl_capset *b)
{
	size_t n = 0;

	for (size_t i = 0; i < tax->caps.n; i++)
		n += kl_capset_has(a, (int)i) && kl_capset_has(b, (int)i);
	return n;
}

static bool is_false_on(struct kl_seeker *s, const struct kl_transition *t, size_t i, const char *platform)
{
	KL_AUTO(kl_freep) char *test = kl_clauses_one(&s->clauses, i);
	struct kl_target there = { .known = KL_KNOWN_INIT };
	bool no;

	if (kl_target_init(&there, s->o->tax, t->to, platform) < 0) {
		kl_error_clear();
		return false;
	}
	no = kl_target_test(&there, test, true, NULL) == KL_FALSE;
	kl_target_release(&there);
	return no;
}

/* of its kind, nearest first: what else it lacks would fail for its own reasons */
static size_t lacking(const struct kl_tax_platform *out[MAX_PLATFORMS], struct kl_seeker *s,
		      const struct kl_transition *t, const struct kl_target *at, size_t i)
{
	const struct kl_taxonomy *tax = s->o->tax;
	size_t kind = strcspn(at->platform, "/") + 1, n = 0;

	for (size_t p = 0; p < tax->nplatform; p++) {
		const struct kl_tax_platform *one = &tax->platform[p];
		size_t near = shared(tax, &one->has, &at->caps), k = n;

		if (strncmp(one->name, at->platform, kind) || !is_false_on(s, t, i, one->name))
			continue;
		for (; k && shared(tax, &out[k - 1]->has, &at->caps) < near; k--)
			if (k < MAX_PLATFORMS)
				out[k] = out[k - 1];
		if (k < MAX_PLATFORMS)
			out[k] = one;
		n += n < MAX_PLATFORMS;
	}
	return n;
}

/* both states there, and the gate that judges them; of device code only what a compiler says can be asked */
struct ported {
	struct kl_surface *to, *from;
	struct kl_gate *gate;
};

static void ported_release(struct ported *p)
{
	kl_surface_free(p->to);
	kl_surface_free(p->from);
}

static int compiles(bool *yes, struct kl_gate *g, const struct kl_surface *s)
{
	KL_AUTO(kl_facts_release) struct kl_facts f = { 0 };
	int err = kl_gate_facts(&f, g, s);

	*yes = !err;
	if (err == KL_ENO) {
		kl_error_clear();
		err = 0;
	}
	return err;
}

static int port(struct ported *out, struct kl_seeker *s, const struct kl_transition *t, const char *platform)
{
	bool to = false, from = false;
	int err;

	if (!kl_contract_is_cuda(t->to->contract)) {
		if ((err = kl_surface_with(&out->to, t->to, NULL, 0)) < 0 ||
		    (err = kl_surface_with(&out->from, t->from, NULL, 0)) < 0)
			return err;
		return open_gate(&out->gate, s, platform);
	}
	if ((err = kl_witness_port(&out->to, t->to, platform)) < 0 ||
	    (err = kl_witness_port(&out->from, t->from, platform)) < 0 ||
	    (err = open_gate(&out->gate, s, "")) < 0 || (err = compiles(&from, out->gate, out->from)) < 0 ||
	    (err = compiles(&to, out->gate, out->to)) < 0)
		return err;
	if (!from)
		return kl_error(KL_ENO, "the state before the step does not compile for %s either", platform);
	if (to)
		return kl_error(KL_ENO, "it compiles for %s, and only such a device could tell more",
				platform);
	return 0;
}

static int judge_before(struct kl_seeker *s, struct kl_witness_clause *c, const struct kl_transition *t,
			const struct ported *p, const char *platform, const struct kl_verdict *v)
{
	KL_AUTO(kl_verdict_freep) struct kl_verdict *before = NULL;
	int err;

	/* that it compiles is known; it cannot be run */
	if (kl_contract_is_cuda(t->to->contract))
		return kl_witness_keep(s, t, commit_of(t), p->to, v, platform);
	if ((err = judge(&before, s, c, p->gate, p->from)) < 0 || !before)
		return err < 0 ? err : KL_ENO;
	if (!passed(before)) {
		leave_open(c, "the state before the step fails there, too: it is not the step's need");
		return KL_ENO;
	}
	if ((err = kl_witness_keep(s, t, commit_of(t), p->to, v, platform)) < 0)
		return err;
	return kl_witness_keep(s, t, &t->before, p->from, before, platform);
}

static int ask_platform(struct kl_seeker *s, struct kl_witness_clause *c, const struct kl_transition *t,
			const char *platform)
{
	KL_AUTO(ported_release) struct ported p = { 0 };
	KL_AUTO(kl_verdict_freep) struct kl_verdict *v = NULL;
	char *at;
	int err;

	kl_strvec_pushf(&c->plan, "%s K_%d for %s", t->lineage, t->step.number, platform);
	if (s->o->dry)
		return 0;
	if ((err = port(&p, s, t, platform)) < 0)
		return unsure(s, c, err);
	if ((err = judge(&v, s, c, p.gate, p.to)) < 0 || !v)
		return err;
	at = kl_asprintf("%s K_%d for %s", t->lineage, t->step.number, platform);
	if (passed(v) && kl_witness_is_there(s->card, &v->facts.features)) {
		err = kl_witness_keep(s, t, commit_of(t), p.to, v, platform);
		return err < 0 ? err : passes(s, c, v, at);
	}
	if (passed(v))
		leave_open(c, "there the compiler does it without the mechanism");
	else if (strcmp(v->class_, "compile") && !is_of_run(v->class_))
		leave_open(c, v->message);
	else if (!(err = judge_before(s, c, t, &p, platform, v)))
		return fails(s, c, v, at);
	free(at);
	return err == KL_ENO ? 0 : err;
}

static int ask_platforms(struct kl_seeker *s, struct kl_witness_clause *c, const struct kl_transition *t,
			 const struct kl_target *at, size_t i)
{
	const struct kl_tax_platform *p[MAX_PLATFORMS];
	size_t n = lacking(p, s, t, at, i);
	int err = 0;

	if (!n)
		leave_open(c, "no platform of the table lacks it");
	for (size_t k = 0; !err && k < n && c->end == KL_WITNESS_OPEN; k++)
		err = ask_platform(s, c, t, p[k]->name);
	return err;
}

/* --- one clause -------------------------------------------------------------------------------------- */

static bool asks_for(const char *test, const char *prefix)
{
	KL_AUTO(kl_predicate_freep) struct kl_predicate *p = NULL;
	KL_AUTO(kl_strvec_release) struct kl_strvec keys = KL_STRVEC_INIT;

	if (kl_predicate_parse(&p, test, NULL) < 0) {
		kl_error_clear();
		return false;
	}
	kl_predicate_keys(&keys, p);
	for (size_t i = 0; i < keys.n; i++)
		if (!strncmp(keys.v[i], prefix, strlen(prefix)))
			return true;
	return false;
}

/* is the condition about this kernel at all, and true of it? */
static bool is_about(struct kl_seeker *s, struct kl_target *at, size_t i)
{
	KL_AUTO(kl_freep) char *test = kl_clauses_one(&s->clauses, i);

	if (*s->clauses.guard && kl_target_test(at, s->clauses.guard, true, NULL) != KL_FALSE)
		return false;
	return kl_target_test(at, test, true, NULL) == KL_TRUE;
}

static int ask_kernel(struct kl_seeker *s, struct kl_witness_clause *c, const struct kl_transition *t,
		      size_t i)
{
	struct kl_target at = { .known = KL_KNOWN_INIT };
	int err = kl_target_init(&at, s->o->tax, t->to, t->platform);

	if (err < 0)
		return unsure(s, c, err);
	kl_target_add_event(&at, t->event);
	if (!is_about(s, &at, i))
		;
	else if (asks_for(s->clauses.v.v[i], "cap("))
		err = ask_platforms(s, c, t, &at, i);
	else
		err = ask_points(s, c, t, &at, i);
	kl_target_release(&at);
	return err;
}

static bool is_evidence(const struct kl_card *c, const struct kl_transition *t)
{
	for (size_t i = 0; i < c->evidence.n; i++)
		if (!strcmp(c->evidence.v[i].event, kl_record_id(t->event)))
			return true;
	return false;
}

static int ask_clause(struct kl_seeker *s, size_t i)
{
	struct kl_witness_clause *c = &s->r->clause[i];
	int err = 0;

	kl_progress_title(s->o->progress, "%s: %s", s->card->id, c->text);
	for (size_t k = 0; !err && k < s->o->t->n && c->end == KL_WITNESS_OPEN; k++)
		if (is_evidence(s->card, &s->o->t->v[k]))
			err = ask_kernel(s, c, &s->o->t->v[k], i);
	/* a kernel that nobody could ask may need it */
	if (!err && c->end == KL_WITNESS_OPEN && c->passes && !c->unsure)
		c->end = KL_WITNESS_PASSES;
	if (!c->why && c->end == KL_WITNESS_OPEN && !s->o->dry)
		c->why = kl_strdup("none of the kernels that it was learned from is here, or is one to ask");
	return err;
}

/* --- one condition, one card --------------------------------------------------------------------------- */

static struct kl_witness_result *add_result(struct kl_seeker *s, const struct kl_card_pre *p)
{
	struct kl_witness *w = s->out;
	struct kl_witness_result *r;

	KL_GROW(w->v, w->n + 1, w->alloc);
	r = &w->v[w->n++];
	*r = (struct kl_witness_result){
		.card = kl_strdup(s->card->id), .pre = kl_strdup(p->id), .n = s->clauses.v.n,
		.clause = kl_calloc(s->clauses.v.n, sizeof(*r->clause)),
	};
	for (size_t i = 0; i < r->n; i++)
		r->clause[i].text = kl_strdup(s->clauses.v.v[i]);
	return r;
}

static bool any_decided(const struct kl_witness_result *r)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->clause[i].end != KL_WITNESS_OPEN)
			return true;
	return false;
}

static int seek_pre(struct kl_seeker *s, size_t pre)
{
	const struct kl_card_pre *p = &s->card->sound.v[pre];
	KL_AUTO(kl_freep) char *chain = kl_asprintf("refs/klineage/trials/%s", s->card->id);
	int err;

	forget(s);
	if ((err = kl_clauses_split(&s->clauses, p->test)) < 0)
		return err;
	s->keep = (struct kl_keep){ .repo = s->o->repo, .chain = chain };
	s->r = add_result(s, p);
	err = kl_witness_at_hand(s);
	for (size_t i = 0; !err && i < s->r->n; i++)
		if (s->r->clause[i].end == KL_WITNESS_OPEN)
			err = ask_clause(s, i);
	if (!err && !s->o->dry && any_decided(s->r))
		err = kl_witness_put(s, pre);
	forget(s);
	return err;
}

static const struct kl_card_pre *find_open(size_t *at, const struct kl_card *c, const char *id)
{
	for (*at = 0; *at < c->sound.n; ++*at) {
		const struct kl_card_pre *p = &c->sound.v[*at];

		if (!strcmp(p->id, id) && p->test && p->state == KL_PRE_ASSUMED)
			return p;
	}
	return NULL;
}

static int read_card(struct kl_seeker *s, const char *id)
{
	kl_card_free(s->card);
	s->card = NULL;
	return kl_library_card(&s->card, s->o->library, id);
}

static int seek_card(struct kl_seeker *s, const char *id)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec pres = KL_STRVEC_INIT;
	int err = read_card(s, id);

	if (err == KL_EINVALID || err == KL_ECANNOT) {
		kl_strvec_push(&s->out->notes, kl_error_last());
		kl_error_clear();
		return 0;
	}
	if (err < 0 || s->card->status == KL_CARD_RETRACTED)
		return err;
	for (size_t i = 0; i < s->card->sound.n; i++)
		kl_strvec_push(&pres, s->card->sound.v[i].id);
	for (size_t i = 0; !err && i < pres.n; i++) {
		size_t at;

		if (find_open(&at, s->card, pres.v[i]))
			err = seek_pre(s, at);
		if (!err)	/* it may have changed */
			err = read_card(s, id);
	}
	return err;
}

static int pick_cards(struct kl_strvec *out, const struct kl_witness_opts *o)
{
	for (size_t i = 0; i < kl_library_count(o->library) && !o->cards->n; i++)
		kl_strvec_push(out, kl_library_id(o->library, i));
	for (size_t i = 0; i < o->cards->n; i++) {
		size_t at;
		int err = kl_library_find(&at, o->library, o->cards->v[i]);

		if (err < 0)
			return err;
		kl_strvec_push(out, kl_library_id(o->library, at));
	}
	kl_strvec_uniq(out);
	return 0;
}

int kl_witness_seek(struct kl_witness *out, const struct kl_witness_opts *o)
{
	KL_AUTO(seeker_release) struct kl_seeker s = { .o = o, .out = out };
	KL_AUTO(kl_strvec_release) struct kl_strvec cards = KL_STRVEC_INIT;
	int err;

	*out = (struct kl_witness){ 0 };
	s.events.free_value = free_event;
	err = pick_cards(&cards, o);
	for (size_t i = 0; !err && i < cards.n; i++)
		err = seek_card(&s, cards.v[i]);
	return err;
}
