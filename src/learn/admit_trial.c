/* SPDX-License-Identifier: Apache-2.0 */
/* admit_trial - a trial from the first edit to the card's new row: pairs, controls, the verdict */
#include <stdio.h>
#include <string.h>

#include "apply/materialize_log.h"
#include "base/error.h"
#include "base/fault.h"
#include "card/status.h"
#include "learn/admit_parts.h"
#include "retrieve/target.h"

/* what came of all that a trial consists of */
struct trial {
	struct kl_attempt first;   /* the card on S */
	struct kl_attempt pair;    /* the card that it makes room for, on that */
	struct kl_attempt alone;   /* the same on S */
	struct kl_attempt control; /* the intent on S */
	/* `pair` against what it was made from: that card's trial */
	struct kl_attempt step;
	bool paired, controlled, admits_partner;
	const struct kl_attempt *counts; /* whose event the row cites */
	char class_[24];
};

static void trial_release(struct trial *t)
{
	kl_attempt_release(&t->first);
	kl_attempt_release(&t->pair);
	kl_attempt_release(&t->alone);
	kl_attempt_release(&t->control);
	kl_attempt_release(&t->step);
}

static struct kl_admit_state *state_of(const struct kl_admit *w)
{
	return &w->a->v[w->a->chosen];
}

static void ends_as(struct trial *t, const struct kl_attempt *counts, const char *class_)
{
	t->counts = counts;
	snprintf(t->class_, sizeof(t->class_), "%s", class_);
}

/* --- an enabler and what it makes room for ---------------------------------------------------- */

static int try_pair(struct trial *t, struct kl_admit *w)
{
	const struct kl_admit_state *s = state_of(w);
	struct kl_attempt_of on_top = {
		.card = w->partner,
		.on = t->first.to,
		.commit = &t->first.commit,
		.against = s->state,
		.phase = "enabled",
		.number = 2,
	};
	struct kl_attempt_of alone = {
		.card = w->partner,
		.on = s->state,
		.commit = &s->commit,
		.against = s->state,
		.phase = "alone",
		.number = 1,
	};
	int err = kl_admit_attempt(&t->pair, w, &on_top);

	if (err < 0)
		return err;
	t->paired = true;
	if (*t->pair.class_) {
		ends_as(t, &t->first, "not-enabling");
		return 0;
	}
	if ((err = kl_admit_attempt(&t->alone, w, &alone)) < 0)
		return err;
	ends_as(t, &t->pair, *t->alone.class_ ? "" : "not-needed");
	return 0;
}

/*
 * the pair that holds is a held-out trial of the other card, too: on the state that this one made
 */
static int judge_step(struct trial *t, struct kl_admit *w)
{
	struct kl_attempt_of of = {
		.card = w->partner,
		.on = t->first.to,
		.commit = &t->first.commit,
		.against = t->first.to,
		.number = 2,
	};
	int err;

	if (!t->paired || *t->class_ || w->partner->status == KL_CARD_ADMITTED)
		return 0;
	t->step = (struct kl_attempt){ .recovered = -1,
				       .nano = t->pair.nano,
				       .repairs = t->pair.repairs };
	t->step.commit = t->pair.commit;
	if ((err = kl_surface_with(&t->step.to, t->pair.to, NULL, 0)) < 0)
		return err;
	err = kl_admit_judge(&t->step, w, &of);
	if (err == KL_ECANNOT) { /* then the other card is admitted another time */
		kl_error_clear();
		return 0;
	}
	t->admits_partner = !err && !*t->step.class_;
	return err;
}

/* --- all of it -------------------------------------------------------------------------------- */

static int try_all(struct trial *t, struct kl_admit *w)
{
	const struct kl_admit_state *s = state_of(w);
	struct kl_attempt_of of = {
		.card = w->old,
		.on = s->state,
		.commit = &s->commit,
		.phase = "admit",
		.number = 1,
		.against = w->partner ? NULL : s->state,
		.known = w->partner ? NULL : s,
	};
	int err = kl_admit_attempt(&t->first, w, &of);

	if (err < 0)
		return err;
	ends_as(t, &t->first, t->first.class_);
	if (w->partner && !*t->first.class_ &&
	    ((err = try_pair(t, w)) < 0 || (err = judge_step(t, w)) < 0))
		return err;
	if (!w->session || w->partner || w->o->no_control)
		return 0;
	of.phase = "control";
	of.control = true;
	err = kl_admit_attempt(&t->control, w, &of);
	t->controlled = !err;
	return err;
}

/* --- the row ---------------------------------------------------------------------------------- */

static char *hex_of(const git_oid *oid)
{
	char *out = kl_malloc(KL_OID_HEX);

	kl_oid_hex(out, oid);
	return out;
}

static int64_t nano_to_micro(int64_t nano)
{
	return nano < 0 ? -1 : nano / 1000;
}

static void fill_control(struct kl_card_control *c, const struct kl_attempt *a)
{
	*c = (struct kl_card_control){
		.there = true,
		.result = *a->class_ ? KL_RESULT_FAIL : KL_RESULT_PASS,
		.ratio = a->ratio,
		.class_ = *a->class_ ? kl_strdup(a->class_) : NULL,
		.usd = nano_to_micro(a->nano),
		.event = a->event ? kl_strdup(a->event->id) : NULL,
	};
}

static void fill_point(struct kl_card_trial *r, const struct kl_admit *w, const char *platform)
{
	const struct kl_admit_state *s = state_of(w);
	const struct kl_contract *k = s->state->contract;

	r->workload = kl_strdup(k->workload);
	r->lineage = kl_strdup(s->lineage);
	r->case_ = kl_strdup(k->op);
	r->dtype = kl_strdup(kl_target_dtype(k));
	r->language = kl_strdup(k->language->name);
	r->platform = kl_strdup(platform);
	for (size_t i = 0; i < k->dims.n; i++)
		kl_card_dims_add(&r->dims, k->dim_name[i], k->dims.v[i]);
}

static int64_t add_money(int64_t a, int64_t b)
{
	return a < 0 ? b : b < 0 ? a : a + b;
}

static void fill_row(struct kl_card_trial *r, const struct kl_admit *w, const struct kl_attempt *a,
		     const char *class_, const char *platform)
{
	kl_card_trial_init(r);
	fill_point(r, w, platform);
	r->result = *class_ ? KL_RESULT_FAIL : KL_RESULT_PASS;
	r->class_ = *class_ ? kl_strdup(class_) : NULL;
	r->ratio = a->ratio;
	r->recovered = a->recovered;
	r->event = a->event ? kl_strdup(a->event->id) : NULL;
	r->made = a->event ? hex_of(&a->commit) : NULL;
	r->how = w->session ? KL_HOW_AGENT : KL_HOW_MECHANICAL;
	r->repairs = a->repairs;
	r->usd = nano_to_micro(a->nano);
	r->model = a->model ? kl_strdup(a->model) : NULL;
	r->isolated = true;
}

static void fill_trial(struct kl_card_trial *r, const struct trial *t, const struct kl_admit *w,
		       const char *platform)
{
	const struct kl_admit_state *s = state_of(w);

	fill_row(r, w, t->counts, t->class_, platform);
	r->trial = s->trials + 1;
	r->level = s->level;
	r->state = hex_of(&s->commit);
	if (t->paired) {
		kl_strvec_push(&r->with, w->partner->id);
		r->repairs = t->first.repairs + (t->counts == &t->pair ? t->pair.repairs : 0);
		r->usd = nano_to_micro(add_money(t->first.nano, t->pair.nano));
	}
	if (t->alone.event || *t->alone.class_)
		fill_control(&r->alone, &t->alone);
	if (t->controlled)
		fill_control(&r->control, &t->control);
}

/* the other card's: its state is what this one made of S */
static void fill_partner(struct kl_card_trial *r, const struct trial *t, const struct kl_admit *w,
			 const char *platform)
{
	const struct kl_admit_state *s = state_of(w);

	fill_row(r, w, &t->step, "", platform);
	r->trial = 1;
	r->level = kl_status_level(w->partner, s->state->contract->workload, s->lineage,
				   s->state->contract->language->name, platform);
	r->state = hex_of(&t->first.commit);
	r->model = t->pair.model ? kl_strdup(t->pair.model) : NULL;
}

static void add_rows(struct kl_card *c, const struct kl_card_trial *t, const struct kl_contract *k,
		     const struct kl_event *event)
{
	for (size_t i = 0; i < k->nperf; i++) {
		struct kl_card_row r = { .by = KL_ROW_TRIAL };

		if (!kl_transition_ratio(&r.ratio, event, NULL, i))
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

/* --- into the library ------------------------------------------------------------------------- */

static void add_event(struct kl_map *events, const struct kl_attempt *a)
{
	if (a->event)
		kl_map_put(events, a->event->id, kl_event_ref(a->event));
}

static char *subject_of(const struct kl_card *c, const struct kl_card_trial *r)
{
	return kl_asprintf("admit: %s %s%s%s at %s", c->id,
			   r->result == KL_RESULT_PASS ? "passed" : "failed", r->class_ ? ", " : "",
			   r->class_ ? r->class_ : "", kl_level_name(r->level));
}

/* takes what the row owns */
static void add_trial(struct kl_card *c, struct kl_card_trial *r, const struct kl_contract *k,
		      const struct kl_event *event)
{
	if (r->result == KL_RESULT_PASS)
		add_rows(c, r, k, event);
	kl_card_add_trial(c, r);
}

/* the row, by what it is known by */
static const struct kl_card_trial *find_row(const struct kl_card *c, const struct kl_admit *w,
					    int64_t trial)
{
	char hex[KL_OID_HEX];

	kl_oid_hex(hex, &state_of(w)->commit);
	for (size_t i = 0; i < c->ver.n; i++)
		if (!c->ver.v[i].retracted && !c->ver.v[i].foreign && c->ver.v[i].trial == trial &&
		    !strcmp(c->ver.v[i].state, hex))
			return &c->ver.v[i];
	return NULL;
}

static int put_trial(struct trial *t, struct kl_admit *w, const char *platform)
{
	const struct kl_contract *k = state_of(w)->state->contract;
	KL_AUTO(kl_card_freep) struct kl_card *partner = w->partner ? kl_card_copy(w->partner) :
								      NULL;
	KL_AUTO(kl_freep) char *subject = NULL, *second = NULL;
	KL_AUTO(kl_map_release) struct kl_map events = { .free_value = kl_event_free_value };
	struct kl_library_change then = {
		.card = partner,
		.base = w->partner,
		.events = &events,
	};
	struct kl_library_change change = {
		.card = w->a->card,
		.base = w->old,
		.events = &events,
		.also = kl_keep_into,
		.payload = &w->keep,
		.then = t->admits_partner ? &then : NULL,
	};
	struct kl_card_trial row;
	int64_t trial;
	int err;

	add_event(&events, &t->first);
	add_event(&events, &t->pair);
	add_event(&events, &t->alone);
	add_event(&events, &t->control);
	add_event(&events, &t->step);
	fill_trial(&row, t, w, platform);
	trial = row.trial;
	change.subject = subject = subject_of(w->old, &row);
	add_trial(w->a->card, &row, k, t->counts->event);
	if (t->admits_partner) {
		fill_partner(&row, t, w, platform);
		then.subject = second = subject_of(partner, &row);
		add_trial(partner, &row, k, t->step.event);
	}
	if ((err = KL_FAULT("admit-put")) < 0 || (err = kl_library_put(w->o->library, &change)) < 0)
		return err;
	w->a->trial = find_row(w->a->card, w, trial);
	return 0;
}

/* the conversations of this very trial: another one has others */
static int open_session(struct kl_admit *w)
{
	const struct kl_admit_state *s = state_of(w);
	char hex[KL_OID_HEX];

	if (!w->o->rewriter)
		return 0;
	kl_oid_hex(hex, &s->commit);
	w->conversation = kl_asprintf("%.44s-%.7s-%lld", w->old->id, hex, (long long)s->trials + 1);
	return w->o->open(&w->session, s->state->contract->workload, w->o->payload);
}

/* the state as the gate knew it, with its time, for who is to change it */
static int find_facts(struct kl_admit *w)
{
	const struct kl_admit_state *s = state_of(w);
	KL_AUTO(kl_event_freep) struct kl_event *event = NULL;
	int err = kl_mat_log_event(&event, w->o->repo, &s->commit, s->state, NULL);

	if (!err && event) {
		kl_event_free(w->facts);
		w->facts = kl_steal(&event);
	}
	return err;
}

int kl_admit_trial(struct kl_admit *w)
{
	KL_AUTO(trial_release) struct trial t = { .counts = NULL };
	struct kl_platform p;
	int err;

	w->chain = kl_asprintf("refs/klineage/trials/%s", w->old->id);
	w->keep = (struct kl_keep){ .repo = w->o->repo, .chain = w->chain };
	if ((err = kl_gate_platform(&p, w->o->gate, state_of(w)->state)) < 0 ||
	    (err = open_session(w)) < 0 || (w->session && (err = find_facts(w)) < 0) ||
	    (err = try_all(&t, w)) < 0)
		return err;
	return put_trial(&t, w, p.id);
}
