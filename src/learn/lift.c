/* SPDX-License-Identifier: Apache-2.0 */
#include "learn/lift.h"

#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/fs.h"
#include "card/card_merge.h"
#include "card/library_parts.h"
#include "learn/lift_parts.h"

#define ACTIONS "templates/actions.yaml"
#define MAX_ENABLES 3

static const struct kl_comparison *against_before(const struct kl_transition *t)
{
	return kl_comparisons_parent(&t->event->profile.vs);
}

enum kl_speed kl_lift_speed_of(const struct kl_transition *t)
{
	const struct kl_comparison *before = against_before(t);

	return before ? before->speed : KL_SPEED_NONE;
}

int64_t kl_lift_ratio_of(const struct kl_transition *t)
{
	const struct kl_comparison *before = against_before(t);

	return before ? before->ratio_ppm : 0;
}

/*
 * fast, or so hidden by noise that it may have been: nobody can say that it only makes room for
 * others
 */
static bool may_be_win(const struct kl_transition *t)
{
	enum kl_speed speed = kl_lift_speed_of(t);

	return speed == KL_SPEED_FAST ||
	       (speed == KL_SPEED_AMBIGUOUS && against_before(t)->hi_ppm > KL_LIFT_GAIN);
}

bool kl_lift_is_verified(const struct kl_transition *t)
{
	return t->confirmed && t->step.derivation && !strcmp(t->step.derivation, "rederived");
}

void kl_lift_signs(struct kl_strvec *out, const struct kl_transition *t,
		   const struct kl_mechanism *m)
{
	for (int incidental = 0; incidental < 2 && !out->n; incidental++)
		for (size_t i = 0; i < t->gained.n; i++)
			if (kl_strvec_has(&m->primary, t->gained.v[i]) &&
			    kl_strvec_has(&m->incidental, t->gained.v[i]) == incidental)
				kl_strvec_push(out, t->gained.v[i]);
}

void kl_lift_delta(struct kl_strvec *out, const struct kl_transition *t,
		   const struct kl_mechanism *m)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec traits = KL_STRVEC_INIT;

	kl_lift_signs(out, t, m);
	kl_strvec_split(&traits, t->step.trait ? t->step.trait : "", ", ");
	for (size_t i = 0; i < traits.n; i++)
		kl_strvec_pushf(out, "trait:%s", traits.v[i]);
	kl_strvec_uniq(out);
}

/* --- groups --------------------------------------------------------------------------- */

struct groups {
	struct kl_lift_group *v;
	size_t n, alloc;
};

static void groups_release(struct groups *g)
{
	for (size_t i = 0; i < g->n; i++)
		free(g->v[i].t);
	free(g->v);
}

/* the plan is data, and an edit of it is of another kind than one of code */
static bool is_plan_only(const struct kl_transition *t)
{
	bool some = false;

	for (const char *s = t->diff; (s = strstr(s, "diff --git ")); s++) {
		size_t n = strcspn(s, "\n");

		if (s > t->diff && s[-1] != '\n')
			continue;
		some = true;
		if (n < 5 || strncmp(s + n - 5, ".yaml", 5))
			return false;
	}
	return some;
}

/* verified ones first, then the greater gain; then by name, so that it is the same everywhere */
static int by_worth(const void *a, const void *b)
{
	const struct kl_transition *x = *(const struct kl_transition *const *)a;
	const struct kl_transition *y = *(const struct kl_transition *const *)b;
	int v = (int)kl_lift_is_verified(y) - (int)kl_lift_is_verified(x), c;

	if (v)
		return v;
	if (kl_lift_ratio_of(x) != kl_lift_ratio_of(y))
		return kl_lift_ratio_of(x) < kl_lift_ratio_of(y) ? 1 : -1;
	if ((c = strcmp(x->lineage, y->lineage)))
		return c;
	return x->step.number - y->step.number;
}

static int by_name(const void *a, const void *b)
{
	const struct kl_lift_group *x = a, *y = b;
	int c = strcmp(x->m->name, y->m->name);

	if (!c)
		c = strcmp(x->action, y->action);
	return c ? c : (int)x->plan_only - (int)y->plan_only;
}

static void leave_out(struct kl_lifter *l, const struct kl_transition *t, const char *why)
{
	kl_strvec_pushf(l->notes, "%s step %d (%s): %s", t->lineage, t->step.number, t->step.action,
			why);
}

/* a word of its author's own is nothing that lineages could have in common: then the usual one */
static const char *action_of(const struct kl_lifter *l, const struct kl_transition *t,
			     const struct kl_mechanism *m)
{
	return m->action && !kl_actions_has(&l->actions, t->step.action) ? m->action :
									   t->step.action;
}

static void group_one(struct groups *out, struct kl_lifter *l, const struct kl_transition *t)
{
	const struct kl_mechanism *m = t->step.mechanism ? kl_mechanisms_find(&l->mechanisms,
									      t->step.mechanism) :
							   NULL;
	struct kl_lift_group *g = NULL;
	bool plan_only = is_plan_only(t);
	const char *action;

	if (t->step.delta && !strcmp(t->step.delta, "compound")) {
		leave_out(l, t, "more than one mechanism changed");
		return;
	}
	if (!m) {
		leave_out(l, t, "no known mechanism");
		return;
	}
	action = action_of(l, t, m);
	for (size_t i = 0; i < out->n && !g; i++)
		if (out->v[i].m == m && !strcmp(out->v[i].action, action) &&
		    out->v[i].plan_only == plan_only)
			g = &out->v[i];
	if (!g) {
		KL_GROW(out->v, out->n + 1, out->alloc);
		g = &out->v[out->n++];
		*g = (struct kl_lift_group){ .m = m, .action = action, .plan_only = plan_only };
	}
	KL_GROW(g->t, g->n + 1, g->alloc);
	g->t[g->n++] = t;
	g->wins |= kl_lift_speed_of(t) == KL_SPEED_FAST;
}

static void make_groups(struct groups *out, struct kl_lifter *l)
{
	for (size_t i = 0; i < l->t->n; i++)
		group_one(out, l, &l->t->v[i]);
	if (out->n)
		qsort(out->v, out->n, sizeof(*out->v), by_name);
	for (size_t i = 0; i < out->n; i++)
		qsort(out->v[i].t, out->v[i].n, sizeof(*out->v[i].t), by_worth);
}

/* --- which card is it? ------------------------------------------------------------------- */

static bool knows_group(const struct kl_card *c, const struct kl_lift_group *g)
{
	for (size_t i = 0; i < g->n; i++)
		for (size_t k = 0; k < c->evidence.n; k++)
			if (!strcmp(c->evidence.v[k].event, g->t[i]->event->id))
				return true;
	return false;
}

static bool same_text(const char *a, const char *b)
{
	return a && b && !strcmp(a, b);
}

/* is the card about the launch plan alone? its first carrier shows it */
static bool fits_group(const struct kl_card *c, const struct kl_lift_group *g)
{
	return same_text(c->mechanism, g->m->name) && same_text(c->action, g->action) &&
	       (c->anchor.construct && !strcmp(c->anchor.construct, "the launch plan")) ==
		       g->plan_only;
}

struct shelf {
	struct kl_card **v;
	size_t n, alloc;
};

static void shelf_release(struct shelf *s)
{
	for (size_t i = 0; i < s->n; i++)
		kl_card_free(s->v[i]);
	free(s->v);
}

static int read_shelf(struct shelf *out, struct kl_lifter *l, struct kl_library *lib)
{
	for (size_t i = 0; i < kl_library_count(lib); i++) {
		struct kl_card *c;

		if (kl_library_card_at(&c, lib, i) < 0) {
			kl_strvec_push(l->notes, kl_error_last());
			kl_error_clear();
			continue;
		}
		KL_GROW(out->v, out->n + 1, out->alloc);
		out->v[out->n++] = c;
	}
	return 0;
}

/* the card that has some of the evidence, retracted or not; else the first of the same kind */
static struct kl_card *find_card(const struct shelf *s, const struct kl_lift_group *g)
{
	struct kl_card *like = NULL, *has = NULL, *gone = NULL;

	for (size_t i = 0; i < s->n; i++) {
		struct kl_card *c = s->v[i];
		bool live = c->status != KL_CARD_RETRACTED, it_knows = knows_group(c, g);

		if (live && it_knows && (!has || kl_lift_outranks(c, has)))
			has = c;
		if (!live && it_knows && !gone)
			gone = c;
		if (!like && live && fits_group(c, g))
			like = c;
	}
	return has ? has : gone ? gone : like;
}

/* the transition that came first: by its lineage's name and its step */
static const struct kl_transition *first_of(const struct kl_lift_group *g)
{
	const struct kl_transition *first = g->t[0];

	for (size_t i = 1; i < g->n; i++) {
		int c = strcmp(g->t[i]->lineage, first->lineage);

		if (c < 0 || (!c && g->t[i]->step.number < first->step.number))
			first = g->t[i];
	}
	return first;
}

static void result_release(struct kl_lift_result *r)
{
	kl_card_free(r->card);
	kl_card_free(r->old);
	free(r->same_as);
	free(r->t);
}

/* --- results ---------------------------------------------------------------------------------- */

/* one that is built here passes the reader like any other, or is left out */
static bool is_sound(struct kl_lifter *l, const struct kl_card *c)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(kl_card_freep) struct kl_card *again = NULL;
	bool ok;

	kl_card_write(&text, c);
	ok = !kl_card_parse(&again, c->id, text.ptr, text.len);
	if (!ok)
		kl_strvec_pushf(l->notes, "not lifted: %s", kl_error_last());
	kl_error_clear();
	return ok;
}

static bool is_twin(struct kl_lifter *l, const struct kl_card *c, const struct kl_card *keep,
		    const struct kl_lift_group *g)
{
	if (c == keep || !fits_group(c, g) || !fits_group(keep, g) || !kl_lift_is_lifted(keep) ||
	    !kl_lift_is_twin(c, g))
		return false;
	if (c->ver.n) /* its trials are of its own words */
		kl_strvec_pushf(l->notes,
				"%s and %s are of the same steps, and both were tried: both stay",
				keep->id, c->id);
	return !c->ver.n;
}

static void unite_twins(struct kl_card **c, struct kl_lifter *l, const struct kl_lift_group *g,
			const struct shelf *s, const struct kl_card *keep)
{
	for (size_t i = 0; keep && i < s->n; i++)
		if (is_twin(l, s->v[i], keep, g) && kl_lift_unite(c, s->v[i]) < 0) {
			kl_strvec_pushf(l->notes, "%s", kl_error_last());
			kl_error_clear();
		}
}

/* after the card that stays: killed between the two, the next lift sees to it */
static void retract_twins(struct kl_lift *out, struct kl_lifter *l, const struct kl_lift_group *g,
			  const struct shelf *s, const struct kl_card *keep)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec said = KL_STRVEC_INIT;
	struct kl_strvec *notes = l->notes;

	l->notes = &said; /* has been said */
	for (size_t i = 0; keep && i < s->n; i++)
		if (is_twin(l, s->v[i], keep, g)) {
			KL_GROW(out->v, out->n + 1, out->alloc);
			out->v[out->n++] = (struct kl_lift_result){
				.card = kl_card_copy(s->v[i]),
				.old = kl_card_copy(s->v[i]),
				.same_as = kl_strdup(keep->id),
			};
		}
	l->notes = notes;
}

static void add_result(struct kl_lift *out, struct kl_lifter *l, struct kl_lift_group *g,
		       const struct shelf *shelf, const struct kl_card *old)
{
	struct kl_lift_result *r = NULL;
	KL_AUTO(kl_card_freep) struct kl_card *c = NULL;

	if (old && old->status == KL_CARD_RETRACTED) {
		kl_strvec_pushf(l->notes, "%s is retracted: it learns nothing more", old->id);
		return;
	}
	/* one old card may know evidence of two groups */
	for (size_t i = 0; old && i < out->n && !r; i++)
		if (!strcmp(out->v[i].card->id, old->id))
			r = &out->v[i];
	c = r ? kl_card_copy(r->card) : old ? kl_card_copy(old) : kl_card_new();
	if (!old) {
		c->id = kl_card_make_id(g->m->name, first_of(g)->event->id);
		kl_lift_word(c, l, g);
	}
	unite_twins(&c, l, g, shelf, old);
	kl_lift_learn(c, l, g);
	kl_card_normalize(c);
	if (!is_sound(l, c))
		return;
	if (!r) {
		KL_GROW(out->v, out->n + 1, out->alloc);
		r = &out->v[out->n++];
		*r = (struct kl_lift_result){ .old = old ? kl_card_copy(old) : NULL };
	}
	kl_card_free(r->card);
	r->card = kl_steal(&c);
	r->gained = r->card->evidence.n - (old ? old->evidence.n : 0);
	for (size_t i = 0; i < g->n; i++) {
		KL_GROW(r->t, r->n + 1, r->alloc);
		r->t[r->n++] = g->t[i];
	}
}

static const struct kl_lift_result *result_of(const struct kl_lift *out,
					      const struct kl_transition *t)
{
	for (size_t i = 0; i < out->n; i++)
		for (size_t k = 0; k < out->v[i].n; k++)
			if (out->v[i].t[k] == t)
				return &out->v[i];
	return NULL;
}

/* what was faster next in the lineage, by another card */
static const struct kl_lift_result *next_win(const struct kl_lift *out,
					     const struct kl_transition *t)
{
	const struct kl_transitions *all = out->t;
	const struct kl_transition *end = all->v + all->n;
	const struct kl_lift_result *own = result_of(out, t);

	for (const struct kl_transition *u = t + 1; u < end && !strcmp(u->lineage, t->lineage);
	     u++) {
		bool fast = kl_lift_speed_of(u) == KL_SPEED_FAST;
		const struct kl_lift_result *r = fast ? result_of(out, u) : NULL;

		if (r && r != own)
			return r;
	}
	return NULL;
}

/* a card none of whose transitions was faster by itself made room for what came next */
static void name_enabled(struct kl_lift *out, struct kl_lift_result *r)
{
	for (size_t i = 0; i < r->n; i++)
		if (may_be_win(r->t[i]))
			return;
	for (size_t i = 0; i < r->n && r->card->enables.n < MAX_ENABLES; i++) {
		const struct kl_lift_result *next = next_win(out, r->t[i]);

		if (next && !kl_strvec_has(&r->card->enables, next->card->id))
			kl_strvec_push(&r->card->enables, next->card->id);
	}
	kl_card_normalize(r->card);
}

/* --- the whole -------------------------------------------------------------------------------- */

static void lifter_release(struct kl_lifter *l)
{
	kl_mechanisms_release(&l->mechanisms);
	kl_actions_release(&l->actions);
	kl_taxonomy_free(l->tax);
}

static int load_tables(struct kl_lifter *l)
{
	KL_AUTO(kl_freep) char *actions = NULL;
	int err = kl_mechanisms_load_shipped(&l->mechanisms);

	if (!err)
		err = kl_fs_share(&actions, ACTIONS);
	if (!err)
		err = kl_actions_load(&l->actions, actions);
	return err < 0 ? err : kl_taxonomy_load(&l->tax);
}

/* what would change nothing is no result */
static void drop_same(struct kl_lift *out)
{
	size_t n = 0;

	for (size_t i = 0; i < out->n; i++) {
		struct kl_lift_result *r = &out->v[i];
		KL_AUTO(kl_buf_release) struct kl_buf a = KL_BUF_INIT;
		KL_AUTO(kl_buf_release) struct kl_buf b = KL_BUF_INIT;

		kl_card_write(&a, r->card);
		if (r->old)
			kl_card_write(&b, r->old);
		if (r->same_as || strcmp(a.ptr, b.ptr))
			out->v[n++] = *r;
		else
			result_release(r);
	}
	out->n = n;
}

int kl_lift_run(struct kl_lift *out, const struct kl_transitions *t, struct kl_library *lib)
{
	KL_AUTO(lifter_release) struct kl_lifter l = { .t = t, .notes = &out->notes };
	KL_AUTO(groups_release) struct groups g = { 0 };
	KL_AUTO(shelf_release) struct shelf shelf = { 0 };
	int err;

	*out = (struct kl_lift){ .t = t };
	if ((err = load_tables(&l)) < 0 || (err = read_shelf(&shelf, &l, lib)) < 0)
		return err;
	for (size_t i = 0; i < t->notes.n; i++)
		kl_strvec_push(&out->notes, t->notes.v[i]);
	make_groups(&g, &l);
	for (size_t i = 0; i < g.n; i++) {
		out->used += g.v[i].n;
		add_result(out, &l, &g.v[i], &shelf, find_card(&shelf, &g.v[i]));
	}
	for (size_t i = 0; i < g.n; i++)
		retract_twins(out, &l, &g.v[i], &shelf, find_card(&shelf, &g.v[i]));
	for (size_t i = 0; i < out->n; i++)
		if (!out->v[i].old)
			name_enabled(out, &out->v[i]);
	drop_same(out);
	return 0;
}

static int put_tombstone(const struct kl_lift_result *r, struct kl_library *lib)
{
	KL_AUTO(kl_card_freep) struct kl_card *c = kl_card_copy(r->card);
	KL_AUTO(kl_freep) char *subject = kl_asprintf("lift: %s goes into %s", c->id, r->same_as);
	KL_AUTO(kl_freep) char *why = kl_asprintf("the same as %s", r->same_as);
	const char *who;
	char now[21];
	int err = kl_repo_identity(&who, lib->repo);

	if (err < 0)
		return err;
	kl_clock_iso(now);
	kl_card_retract(c, why, who, now);
	return kl_library_put(lib, &(struct kl_library_change){
					   .card = c,
					   .base = r->old,
					   .subject = subject,
				   });
}

int kl_lift_put(const struct kl_lift *l, size_t i, struct kl_library *lib)
{
	const struct kl_lift_result *r = &l->v[i];
	KL_AUTO(kl_freep) char *subject = kl_asprintf("lift: %s", r->card->id);
	KL_AUTO(kl_buf_release) struct kl_buf body = KL_BUF_INIT;

	if (r->same_as)
		return put_tombstone(r, lib);
	kl_buf_addf(&body, "%s, learned from", r->old ? "more evidence" : "a new card");
	for (size_t k = 0; k < r->n; k++)
		kl_buf_addf(&body, "\n%s step %d", r->t[k]->lineage, r->t[k]->step.number);
	if (r->worded)
		kl_buf_addf(&body, "\nworded by a model (%s)", r->worded);
	return kl_library_put(lib, &(struct kl_library_change){
					   .card = r->card,
					   .base = r->old,
					   .is_new = !r->old,
					   .events = &l->t->events,
					   .subject = subject,
					   .body = body.ptr,
				   });
}

void kl_lift_release(struct kl_lift *l)
{
	for (size_t i = 0; i < l->n; i++)
		result_release(&l->v[i]);
	free(l->v);
	kl_strvec_release(&l->notes);
}
