/* SPDX-License-Identifier: Apache-2.0 */
#include "skill/admit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "lineage/record.h"
#include "skill/carrier.h"
#include "skill/made.h"
#include "skill/status.h"
#include "skill/target.h"

#define MAX_TRIALS 3		/* of a card on one state */
#define HALF 500000		/* of the known gain's logarithm, in millionths */

void kl_admission_release(struct kl_admission *a)
{
	for (size_t i = 0; i < a->n; i++) {
		kl_surface_free(a->v[i].own);
		free(a->v[i].why);
	}
	free(a->v);
	kl_card_free(a->card);
	kl_transitions_release(&a->t);
}

struct work {
	const struct kl_admit_opts *o;
	struct kl_admission *a;
	struct kl_strvec seen;		/* surfaces of the evidence */
	struct kl_card *old;		/* as the library has it */
};

static void work_release(struct work *w)
{
	kl_strvec_release(&w->seen);
	kl_card_free(w->old);
}

/* --- may it be tried at all? ------------------------------------------------------------- */

static int can_try(const struct kl_card *c)
{
	bool mechanical = false;

	if (c->status == KL_CARD_RETRACTED)
		return kl_error(KL_EINVALID, "card '%s' is retracted, for good", c->id);
	for (size_t i = 0; i < c->carriers.n; i++)
		mechanical |= kl_carrier_is_mechanical(&c->carriers.v[i]);
	if (!mechanical)
		return kl_error(KL_ECANNOT, "card '%s' has no diff and no semantic patch: without a model "
				"there is nothing to try", c->id);
	if (c->enables.n)
		return kl_error(KL_ECANNOT, "card '%s' makes room for '%s' and is no gain by itself: without "
				"a model it is not tried", c->id, c->enables.v[0]);
	if (!c->provides.n)
		return kl_error(KL_ECANNOT, "card '%s' does not say what it provides, so nobody can see "
				"whether it is there", c->id);
	for (size_t i = 0; i < c->provides.n; i++)
		if (!strncmp(c->provides.v[i], "trait:", 6))
			return kl_error(KL_ECANNOT, "card '%s' provides '%s', which only a reader can "
					"confirm: without a model it cannot be admitted", c->id,
					c->provides.v[i]);
	return 0;
}

/* --- what is held out --------------------------------------------------------------------- */

static void see_event(struct kl_strvec *seen, const json_t *e)
{
	size_t i;
	json_t *v;

	kl_strvec_push(seen, kl_json_str_or(e, "surface", ""));
	json_array_foreach(json_object_get(json_object_get(e, "profile"), "vs"), i, v)
		if (kl_json_str_or(v, "surface", NULL))
			kl_strvec_push(seen, kl_json_str_or(v, "surface", ""));
}

/* the files it was learned from, whatever commit has them */
static int see_evidence(struct work *w)
{
	for (size_t i = 0; i < w->old->evidence.n; i++) {
		const struct kl_card_evidence *e = &w->old->evidence.v[i];
		const char *id[] = { e->event, e->confirmed };

		for (size_t k = 0; k < 2 && id[k]; k++) {
			KL_AUTO(json_decrefp) json_t *event = NULL;
			int err = kl_library_event(&event, w->o->library, id[k]);

			if (err < 0)
				return kl_error_in(err, "card '%s'", w->old->id);
			see_event(&w->seen, event);
		}
	}
	kl_strvec_uniq(&w->seen);
	return 0;
}

static int64_t trials_on(const struct kl_card *c, const char *hex, bool *passed)
{
	int64_t n = 0;

	*passed = false;
	for (size_t i = 0; i < c->ver.n; i++) {
		const struct kl_card_trial *t = &c->ver.v[i];

		if (t->retracted || t->foreign || strcmp(t->state, hex))
			continue;
		n++;
		*passed |= kl_status_counts(t);
	}
	return n;
}

static char *why_not(const struct work *w, struct kl_admit_state *s)
{
	char hex[KL_OID_HEX];
	bool passed;

	kl_oid_hex(hex, &s->commit);
	s->trials = trials_on(w->old, hex, &passed);
	if (!kl_carrier_mechanical(w->old, s->state->contract->language))
		return kl_asprintf("no carrier for %s", s->state->contract->language);
	if (kl_card_has_state(w->old, hex))
		return kl_strdup("the card was learned from it");
	if (kl_strvec_has(&w->seen, s->state->digest))
		return kl_strdup("the card was learned from the same files");
	if (passed)
		return kl_strdup("a trial on it passed");
	if (s->trials >= MAX_TRIALS)
		return kl_strdup("it had its three trials");
	return NULL;
}

static int add_state(struct work *w, const struct kl_transition *t, bool last)
{
	struct kl_admission *a = w->a;
	struct kl_admit_state s = {
		.lineage = t->lineage, .step = last ? t->step.number : t->step.number - 1,
		.commit = last ? t->after : t->before, .state = t->from, .next = last ? NULL : t,
	};
	struct kl_platform p;
	git_oid tree;
	int err = 0;

	/* `to` may be what was derived anew, K* is what the commit has */
	if (last && (err = kl_repo_tree_of(&tree, w->o->repo, &t->after)) == 0)
		err = kl_surface_from_tree(&s.own, w->o->repo, &tree, "");
	if (err)
		return err;
	if (s.own)
		s.state = s.own;
	s.like = s.next && w->old->mechanism && t->step.mechanism &&
		 !strcmp(t->step.mechanism, w->old->mechanism);
	s.why = why_not(w, &s);
	if (!s.why && kl_gate_platform(&p, w->o->gate, s.state) < 0) {
		s.why = kl_strdup(kl_error_last());
		kl_error_clear();
	}
	if (!s.why)
		s.level = kl_status_level(w->old, s.state->contract->workload, s.lineage,
					  s.state->contract->language, p.id);
	KL_GROW(a->v, a->n + 1, a->alloc);
	a->v[a->n++] = s;
	return 0;
}

/* those that can be tried first, the farthest of them before others */
static int by_order(const void *x, const void *y)
{
	const struct kl_admit_state *a = x, *b = y;
	int c = (a->why != NULL) - (b->why != NULL);

	if (!c && !a->why)
		c = kl_level_rank(b->level) - kl_level_rank(a->level);
	if (!c && !a->why)
		c = (int)b->like - (int)a->like;
	if (!c)
		c = strcmp(a->lineage, b->lineage);
	return c ? c : a->step - b->step;
}

static int find_states(struct work *w)
{
	const struct kl_transitions *t = &w->a->t;
	int err = 0;

	for (size_t i = 0; !err && i < t->n; i++) {
		err = add_state(w, &t->v[i], false);
		if (!err && (i + 1 == t->n || strcmp(t->v[i + 1].lineage, t->v[i].lineage)))
			err = add_state(w, &t->v[i], true);
	}
	if (w->a->n)
		qsort(w->a->v, w->a->n, sizeof(*w->a->v), by_order);
	return err;
}

/* --- which of them -------------------------------------------------------------------------- */

static json_t *features_event(const struct kl_facts *f)
{
	json_t *e = json_object(), *list = json_array();

	for (size_t i = 0; i < f->features.n; i++)
		json_array_append_new(list, json_string(f->features.v[i]));
	json_object_set_new(e, "features", list);
	return e;
}

static char *why_unfit(struct kl_target *t, const struct kl_card *c)
{
	for (size_t i = 0; i < c->provides.n; i++)
		if (kl_target_has(t, c->provides.v[i]))
			return kl_asprintf("'%s' is there already", c->provides.v[i]);
	for (size_t i = 0; i < c->scope.conflicts.n; i++)
		if (kl_target_has(t, c->scope.conflicts.v[i]))
			return kl_asprintf("it conflicts with '%s'", c->scope.conflicts.v[i]);
	for (size_t i = 0; i < c->sound.n; i++)
		if (c->sound.v[i].test && kl_target_test(t, c->sound.v[i].test, true, NULL) == KL_FALSE)
			return kl_asprintf("sound '%s' is false", c->sound.v[i].id);
	return NULL;
}

/* what the compiler shows of the state, here */
static int check_facts(char **why, const struct work *w, const struct kl_admit_state *s)
{
	KL_AUTO(kl_facts_release) struct kl_facts f = { 0 };
	KL_AUTO(json_decrefp) json_t *e = NULL;
	struct kl_target t = { .known = KL_KNOWN_INIT };
	struct kl_platform p;
	int err = kl_gate_platform(&p, w->o->gate, s->state);

	if (!err)
		err = kl_gate_facts(&f, w->o->gate, s->state);
	if (err == KL_ENO) {
		*why = kl_asprintf("it does not compile here: %s", kl_error_last());
		kl_error_clear();
		return 0;
	}
	if (err || (err = kl_target_init(&t, w->o->tax, s->state, p.id)) < 0)
		return err;
	e = features_event(&f);
	kl_target_add_event(&t, e);
	*why = why_unfit(&t, w->old);
	kl_target_release(&t);
	return 0;
}

/* the first that can be tried, with the edit that the carrier makes of it */
static int choose(struct kl_surface **to, const char **how, struct work *w)
{
	struct kl_admission *a = w->a;

	for (a->chosen = 0; a->chosen < a->n; a->chosen++) {
		struct kl_admit_state *s = &a->v[a->chosen];
		struct kl_carrier_try t = {
			.repo = w->o->repo, .library = w->o->repo, .jail = kl_gate_jail(w->o->gate),
			.card = w->old, .state = s->state,
		};
		int err;

		if (s->why)
			continue;
		err = kl_carrier_apply(to, how, &t);
		if (err == KL_ENO) {
			s->why = kl_strdup(kl_error_last());
			kl_error_clear();
			continue;
		}
		if (!err)
			err = check_facts(&s->why, w, s);
		if (err || !s->why)
			return err;
		kl_surface_free(kl_steal(to));
	}
	return 0;
}

/* --- the trial --------------------------------------------------------------------------------- */

static char *hex_of(const git_oid *oid)
{
	char *out = kl_malloc(KL_OID_HEX);

	kl_oid_hex(out, oid);
	return out;
}

/* the part of the log-gain of S's own next step, where that had the card's mechanism; -1: not known */
static int64_t recovered(const struct kl_admit_state *s, const struct kl_card_ratio *r, const char *platform)
{
	int64_t known;
	double part;

	if (!s->like || strcmp(s->next->platform, platform))
		return -1;
	known = kl_record_ratio(s->next->event, NULL, NULL);
	if (known <= 1000000 || r->ppm <= 0)
		return -1;
	part = log((double)r->ppm / 1e6) / log((double)known / 1e6);
	return part <= 0 ? 0 : part > 1000 ? 1000000000 : (int64_t)(part * 1e6);
}

static bool provides_all(const struct kl_card *c, const struct kl_facts *f)
{
	for (size_t i = 0; i < c->provides.n; i++)
		if (!kl_strvec_has(&f->features, c->provides.v[i]))
			return false;
	return true;
}

static const char *class_of(struct kl_card_trial *t, const struct work *w, const struct kl_verdict *v)
{
	const char *speed = kl_made_speed(&t->ratio, v->event);

	if (strcmp(v->verdict, "pass"))
		return v->class_[0] ? v->class_ : v->verdict;
	t->recovered = recovered(&w->a->v[w->a->chosen], &t->ratio, t->platform);
	if (!provides_all(w->old, &v->facts))
		return "not-there";
	if (strcmp(speed, "fast"))
		return "not-faster";
	return t->recovered >= 0 && t->recovered < HALF ? "not-enough" : "";
}

/* correct, and noise hides whether it is faster: nothing was learned, so there was no trial */
static int hidden(const struct kl_verdict *v)
{
	struct kl_card_ratio ratio;

	if (strcmp(v->verdict, "pass") || strcmp(kl_made_speed(&ratio, v->event), "ambiguous"))
		return 0;
	return kl_error_hint(kl_error(KL_ECANNOT, "noise hides whether it is faster (%.3f to %.3f times the "
				      "speed): no trial yet", (double)ratio.lo / 1e6, (double)ratio.hi / 1e6),
			     "try again when the machine is quiet");
}

static void fill_trial(struct kl_card_trial *t, const struct work *w, const struct kl_verdict *v)
{
	const struct kl_admit_state *s = &w->a->v[w->a->chosen];
	const struct kl_contract *k = s->state->contract;

	kl_card_trial_init(t);
	t->trial = s->trials + 1;
	t->level = s->level;
	t->workload = kl_strdup(k->workload);
	t->lineage = kl_strdup(s->lineage);
	t->case_ = kl_strdup(k->op);
	t->dtype = kl_strdup(kl_target_dtype(k));
	t->language = kl_strdup(k->language);
	t->platform = kl_strdup(kl_json_str_or(json_object_get(v->event, "platform"), "id", ""));
	for (size_t i = 0; i < k->dims.n; i++)
		kl_card_dims_add(&t->dims, k->dim_name[i], k->dims.v[i]);
	t->state = hex_of(&s->commit);
	t->event = kl_strdup(kl_record_id(v->event));
	t->how = KL_HOW_MECHANICAL;
	t->isolated = true;
}

static void add_rows(struct kl_card *c, const struct kl_card_trial *t, const struct kl_contract *k,
		     const json_t *event)
{
	for (size_t i = 0; i < k->nperf; i++) {
		struct kl_card_row r = { .by = KL_ROW_TRIAL };

		if (!kl_event_point(&r.ratio, event, NULL, i))
			continue;
		for (size_t d = 0; d < k->perf[i].dims.n; d++)
			kl_card_dims_add(&r.dims, k->dim_name[d], k->perf[i].dims.v[d]);
		r.case_ = kl_strdup(t->case_);
		r.dtype = kl_strdup(t->dtype);
		r.language = kl_strdup(t->language);
		r.platform = kl_strdup(t->platform);
		r.event = kl_strdup(t->event);
		kl_card_add_row(c, &r);
	}
}

static const struct kl_card_trial *trial_of(const struct kl_card *c, const char *event)
{
	for (size_t i = 0; i < c->ver.n; i++)
		if (c->ver.v[i].event && !strcmp(c->ver.v[i].event, event))
			return &c->ver.v[i];
	return NULL;
}

static int put(struct work *w, struct kl_card_trial *t, json_t *event, const struct kl_contract *k)
{
	struct kl_map events = { 0 };
	KL_AUTO(kl_freep) char *subject = NULL;
	const char *class_ = t->class_;
	bool pass = t->result == KL_RESULT_PASS;
	struct kl_card *c = w->a->card;
	int err;

	subject = kl_asprintf("admit: %s %s%s%s at %s", c->id, pass ? "passed" : "failed",
			      class_ ? ", " : "", class_ ? class_ : "", kl_level_name(t->level));
	if (pass)
		add_rows(c, t, k, event);
	kl_map_put(&events, t->event, event);
	kl_card_add_trial(c, t);
	w->a->trial = trial_of(c, kl_record_id(event));
	err = kl_library_put(w->o->library, &(struct kl_library_change){
		.card = c, .base = w->old, .events = &events, .subject = subject,
	});
	kl_map_release(&events);
	return err;
}

static int keep(git_oid *made, const struct work *w, const struct kl_surface *to, const char *how,
		const char *class_, json_t *event)
{
	const struct kl_admit_state *s = &w->a->v[w->a->chosen];
	KL_AUTO(kl_freep) char *chain = kl_asprintf("refs/klineage/trials/%s", w->old->id);
	char blob[KL_OID_HEX];
	size_t at;
	int err = kl_library_find(&at, w->o->library, w->old->id);

	if (err < 0)
		return err;
	kl_oid_hex(blob, kl_library_blob(w->o->library, at));
	return kl_made_put(made, &(struct kl_made){
		.repo = w->o->repo, .parent = s->commit, .from = s->state, .to = to, .card = w->old,
		.blob = blob, .how = how, .number = 1, .class_ = class_, .event = event, .chain = chain,
	});
}

static int trial(struct work *w, const struct kl_surface *to, const char *how)
{
	const struct kl_admit_state *s = &w->a->v[w->a->chosen];
	KL_AUTO(kl_verdict_freep) struct kl_verdict *v = NULL;
	struct kl_card_trial t;
	const char *class_;
	git_oid made;
	/* another trial is another measurement */
	int err = kl_made_judge(&v, w->o->gate, to, s->state, s->trials > 0);

	if (err || (err = hidden(v)) < 0)
		return err;
	fill_trial(&t, w, v);
	class_ = class_of(&t, w, v);
	t.result = *class_ ? KL_RESULT_FAIL : KL_RESULT_PASS;
	t.class_ = *class_ ? kl_strdup(class_) : NULL;
	if ((err = keep(&made, w, to, how, class_, v->event)) < 0)
		return err;
	t.made = hex_of(&made);
	return put(w, &t, v->event, s->state->contract);
}

int kl_admit(struct kl_admission *out, const struct kl_admit_opts *o)
{
	KL_AUTO(work_release) struct work w = { .o = o, .a = out };
	KL_AUTO(kl_surface_freep) struct kl_surface *to = NULL;
	const char *how;
	int err;

	*out = (struct kl_admission){ 0 };
	if ((err = kl_library_card(&w.old, o->library, o->card)) < 0 || (err = can_try(w.old)) < 0)
		return err;
	out->card = kl_card_copy(w.old);
	out->before = w.old->status;
	if ((err = see_evidence(&w)) < 0 || (err = kl_transitions_load(&out->t, o->repo, NULL)) < 0 ||
	    (err = find_states(&w)) < 0 || (err = choose(&to, &how, &w)) < 0)
		return err;
	return o->dry || out->chosen == out->n ? 0 : trial(&w, to, how);
}
