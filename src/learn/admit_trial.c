/* SPDX-License-Identifier: Apache-2.0 */
/* admit_trial - runs the attempts of a trial and writes its row to the library */
#include <stdio.h>
#include <string.h>

#include "apply/materialize_log.h"
#include "base/error.h"
#include "base/fault.h"
#include "card/card_types.h"
#include "card/status.h"
#include "learn/admit_parts.h"
#include "retrieve/target.h"

/* The attempts of one trial. S is the chosen state. */
struct trial {
	struct kl_attempt first;   /* the card applied to S */
	struct kl_attempt pair;    /* the enabled card applied to the result of `first` */
	struct kl_attempt alone;   /* the enabled card applied to S */
	struct kl_attempt control; /* the intent without the card, applied to S */
	struct kl_attempt bare;    /* the card without conditions and risks, applied to S */
	struct kl_attempt wrong;   /* another card, applied to S */
	/*
	 * the edit of `pair`, judged against the result of `first`; it counts as a trial of the
	 * enabled card
	 */
	struct kl_attempt step;
	bool paired, admits_partner;
	enum kl_admit_arm arm[KL_ADMIT_ARMS]; /* in the order in which they ran */
	size_t narm;
	const struct kl_attempt *counts; /* the attempt whose event the trial's row cites */
	char class_[24];
};

static void trial_release(struct trial *trial)
{
	kl_attempt_release(&trial->first);
	kl_attempt_release(&trial->pair);
	kl_attempt_release(&trial->alone);
	kl_attempt_release(&trial->control);
	kl_attempt_release(&trial->bare);
	kl_attempt_release(&trial->wrong);
	kl_attempt_release(&trial->step);
}

static struct kl_admit_state *state_of(const struct kl_admit *work)
{
	return &work->a->v[work->a->chosen];
}

static void ends_as(struct trial *trial, const struct kl_attempt *counts, const char *class_)
{
	trial->counts = counts;
	snprintf(trial->class_, sizeof(trial->class_), "%s", class_);
}

/* --- an enabler with a card that it enables --------------------------------------------------- */

static int try_pair(struct trial *trial, struct kl_admit *work)
{
	const struct kl_admit_state *state = state_of(work);
	struct kl_attempt_of on_top = {
		.card = work->partner,
		.on = trial->first.to,
		.commit = &trial->first.commit,
		.against = state->state,
		.phase = "enabled",
		.number = 2,
	};
	struct kl_attempt_of alone = {
		.card = work->partner,
		.on = state->state,
		.commit = &state->commit,
		.against = state->state,
		.phase = "alone",
		.number = 1,
	};
	int err = kl_admit_attempt(&trial->pair, work, &on_top);

	if (err < 0 || trial->pair.waits)
		return err;
	trial->paired = true;
	if (*trial->pair.class_) {
		ends_as(trial, &trial->first, "not-enabling");
		return 0;
	}
	if ((err = kl_admit_attempt(&trial->alone, work, &alone)) < 0 || trial->alone.waits)
		return err;
	ends_as(trial, &trial->pair, *trial->alone.class_ ? "" : "not-needed");
	return 0;
}

/* Judge the result of `pair` against the result of `first`, as a trial of the enabled card. */
static int judge_step(struct trial *trial, struct kl_admit *work)
{
	struct kl_attempt_of of = {
		.card = work->partner,
		.on = trial->first.to,
		.commit = &trial->first.commit,
		.against = trial->first.to,
		.number = 2,
	};
	int err;

	if (!trial->paired || *trial->class_ || work->partner->status == KL_CARD_ADMITTED)
		return 0;
	trial->step = (struct kl_attempt){ .recovered = -1,
					   .nano = trial->pair.nano,
					   .tokens = trial->pair.tokens,
					   .repairs = trial->pair.repairs,
					   .seen = trial->first.seen || trial->pair.seen };
	trial->step.commit = trial->pair.commit;
	if ((err = kl_surface_with(&trial->step.to, trial->pair.to, NULL, 0)) < 0)
		return err;
	err = kl_admit_judge(&trial->step, work, &of);
	/* a noisy result is not an error here: a separate trial can still admit the enabled card */
	if (err == KL_ECANNOT) {
		kl_error_clear();
		return 0;
	}
	trial->admits_partner = !err && !*trial->step.class_;
	return err;
}

/* --- all attempts in turn --------------------------------------------------------------------- */

static struct kl_attempt *attempt_of(struct trial *trial, enum kl_admit_arm arm)
{
	struct kl_attempt *const list[] = { &trial->first, &trial->control, &trial->bare,
					    &trial->wrong };

	return list[arm];
}

/* Run one arm on S; the card's own arm ends with the trial of the pair, if there is a partner. */
static int try_arm(struct trial *trial, struct kl_admit *work, enum kl_admit_arm arm)
{
	const struct kl_admit_state *state = state_of(work);
	struct kl_attempt_of of = {
		.card = work->old,
		.on = state->state,
		.commit = &state->commit,
		.phase = kl_admit_arm_phase(arm),
		.number = 1,
		.arm = arm,
		.shown = arm == KL_ADMIT_WRONG ? work->wrong : NULL,
		.against = work->partner ? NULL : state->state,
		.known = work->partner ? NULL : state,
	};
	int err = kl_admit_attempt(attempt_of(trial, arm), work, &of);

	if (err < 0 || arm != KL_ADMIT_CARD || trial->first.waits)
		return err;
	ends_as(trial, &trial->first, trial->first.class_);
	if (work->partner && !*trial->first.class_ && (err = try_pair(trial, work)) == 0 &&
	    !work->a->waiting)
		err = judge_step(trial, work);
	return err;
}

static int try_all(struct trial *trial, struct kl_admit *work)
{
	int err = work->session && (work->o->arms & 1u << KL_ADMIT_WRONG) ?
			  kl_admit_arms_wrong(work) :
			  0;

	if (err < 0)
		return err;
	trial->narm = kl_admit_arms_order(trial->arm, work);
	for (size_t i = 0; !err && i < trial->narm; i++)
		err = try_arm(trial, work, trial->arm[i]);
	return err;
}

/* --- rows for the card ------------------------------------------------------------------------ */

static int64_t nano_to_micro(int64_t nano)
{
	return nano < 0 ? -1 : nano / 1000;
}

static void fill_control(struct kl_card_control *control, const struct kl_attempt *attempt)
{
	*control = (struct kl_card_control){
		.there = true,
		.result = *attempt->class_ ? KL_RESULT_FAIL : KL_RESULT_PASS,
		.ratio = attempt->ratio,
		.class_ = *attempt->class_ ? kl_strdup(attempt->class_) : NULL,
		.usd = nano_to_micro(attempt->nano),
		.tokens = attempt->tokens,
		.event = attempt->event ? kl_strdup(attempt->event->id) : NULL,
	};
}

static void fill_point(struct kl_card_trial *trial, const struct kl_admit *work,
		       const char *platform)
{
	const struct kl_admit_state *state = state_of(work);
	const struct kl_contract *contract = state->state->contract;

	trial->workload = kl_strdup(contract->workload);
	trial->lineage = state->lineage ? kl_strdup(state->lineage) : NULL;
	trial->case_ = kl_strdup(contract->op);
	trial->dtype = kl_strdup(kl_target_dtype(contract));
	trial->language = kl_strdup(contract->language->name);
	trial->platform = kl_strdup(platform);
	for (size_t i = 0; i < contract->dims.n; i++)
		kl_card_dims_add(&trial->dims, contract->dim_name[i], contract->dims.v[i]);
}

static int64_t add_money(int64_t left, int64_t right)
{
	return left < 0 ? right : right < 0 ? left : left + right;
}

static void fill_row(struct kl_card_trial *trial, const struct kl_admit *work,
		     const struct kl_attempt *attempt, const char *class_, const char *platform)
{
	kl_card_trial_init(trial);
	fill_point(trial, work, platform);
	trial->result = *class_ ? KL_RESULT_FAIL : KL_RESULT_PASS;
	trial->class_ = *class_ ? kl_strdup(class_) : NULL;
	trial->ratio = attempt->ratio;
	trial->recovered = attempt->recovered;
	trial->event = attempt->event ? kl_strdup(attempt->event->id) : NULL;
	trial->made = attempt->event ? kl_oid_text(&attempt->commit) : NULL;
	trial->how = work->session ? KL_HOW_AGENT : KL_HOW_MECHANICAL;
	trial->repairs = attempt->repairs;
	trial->usd = nano_to_micro(attempt->nano);
	trial->tokens = attempt->tokens;
	trial->model = attempt->model ? kl_strdup(attempt->model) : NULL;
	trial->isolated = !attempt->seen;
}

/* Fill in the results of the arms other than the card's own, and their order. */
static void fill_arms(struct kl_card_trial *card_trial, const struct trial *trial,
		      const struct kl_admit *work)
{
	struct kl_buf order = KL_BUF_INIT;

	for (size_t i = 0; i < trial->narm; i++) {
		enum kl_admit_arm arm = trial->arm[i];
		const struct kl_attempt *attempt = arm == KL_ADMIT_INTENT ? &trial->control :
						   arm == KL_ADMIT_BARE   ? &trial->bare :
									    &trial->wrong;
		struct kl_card_control *control = arm == KL_ADMIT_INTENT ? &card_trial->control :
						  arm == KL_ADMIT_BARE   ? &card_trial->bare :
									   &card_trial->wrong;

		kl_buf_addf(&order, "%s%s", i ? " " : "", kl_admit_arm_name(arm));
		if (arm == KL_ADMIT_CARD)
			continue;
		fill_control(control, attempt);
		card_trial->isolated &= !attempt->seen;
	}
	if (work->session)
		card_trial->arms = kl_buf_detach(&order);
	kl_buf_release(&order);
	if (card_trial->wrong.there)
		card_trial->wrong.card = kl_strdup(work->wrong->id);
}

static void fill_trial(struct kl_card_trial *card_trial, const struct trial *trial,
		       const struct kl_admit *work, const char *platform)
{
	const struct kl_admit_state *state = state_of(work);

	fill_row(card_trial, work, trial->counts, trial->class_, platform);
	card_trial->trial = state->trials + 1;
	card_trial->rule = KL_TRIAL_RULE;
	card_trial->level = state->level;
	card_trial->changed = state->changed;
	card_trial->alike = state->alike;
	card_trial->seed = work->seed;
	card_trial->state = kl_oid_text(&state->commit);
	if (trial->paired) {
		kl_strvec_push(&card_trial->with, work->partner->id);
		card_trial->isolated = !trial->first.seen && !trial->pair.seen &&
				       !trial->alone.seen;
		card_trial->repairs = trial->first.repairs +
				      (trial->counts == &trial->pair ? trial->pair.repairs : 0);
		card_trial->usd = nano_to_micro(add_money(trial->first.nano, trial->pair.nano));
		card_trial->tokens = trial->first.tokens < 0 || trial->pair.tokens < 0 ?
					     -1 :
					     trial->first.tokens + trial->pair.tokens;
	}
	if (trial->alone.event || *trial->alone.class_)
		fill_control(&card_trial->alone, &trial->alone);
	fill_arms(card_trial, trial, work);
}

/* Set the level of the row for the enabled card, by the evidence of that card. */
static int place_partner(struct kl_card_trial *card_trial, const struct kl_admit *work,
			 const char *platform)
{
	const struct kl_admit_state *state = state_of(work);
	struct kl_level_evidence evidence;
	struct kl_level_found found;
	int err = kl_level_evidence_load(&evidence, work->o->repo, &work->a->t, work->partner);

	if (!err)
		err = kl_level_find(&found, &evidence,
				    &(struct kl_level_state){
					    .surface = state->state,
					    .commit = state->commit,
					    .lineage = state->lineage,
					    .platform = platform,
				    });
	kl_level_evidence_release(&evidence);
	if (err < 0)
		return err;
	card_trial->rule = KL_TRIAL_RULE;
	card_trial->level = found.level;
	card_trial->changed = found.changed;
	card_trial->alike = found.alike;
	return 0;
}

/*
 * Fill the trial's row for the enabled card. The state in that row is the commit that the enabler's
 * edit made; its level is that of S.
 */
static int fill_partner(struct kl_card_trial *card_trial, const struct trial *trial,
			const struct kl_admit *work, const char *platform)
{
	int err;

	fill_row(card_trial, work, &trial->step, "", platform);
	card_trial->trial = 1;
	card_trial->seed = work->seed;
	card_trial->state = kl_oid_text(&trial->first.commit);
	card_trial->model = trial->pair.model ? kl_strdup(trial->pair.model) : NULL;
	if ((err = place_partner(card_trial, work, platform)) < 0)
		kl_schema_release(card_trial, &kl_card_trial_schema);
	return err;
}

static void add_rows(struct kl_card *card, const struct kl_card_trial *trial,
		     const struct kl_contract *contract, const struct kl_event *event)
{
	for (size_t i = 0; i < contract->nperf; i++) {
		struct kl_card_row row = { .by = KL_ROW_TRIAL };

		if (!kl_transition_ratio(&row.ratio, event, NULL, i))
			continue;
		for (size_t dim = 0; dim < contract->perf[i].dims.n; dim++)
			kl_card_dims_add(&row.dims, contract->dim_name[dim],
					 contract->perf[i].dims.v[dim]);
		row.case_ = kl_strdup(trial->case_);
		row.dtype = kl_strdup(trial->dtype);
		row.language = kl_strdup(trial->language);
		row.platform = kl_strdup(trial->platform);
		row.event = kl_strdup(trial->event);
		kl_card_add_row(card, &row);
	}
}

/* --- writing to the library ------------------------------------------------------------------- */

static void add_event(struct kl_map *events, const struct kl_attempt *attempt)
{
	if (attempt->event)
		kl_map_put(events, attempt->event->id, kl_event_ref(attempt->event));
}

static char *subject_of(const struct kl_card *card, const struct kl_card_trial *trial)
{
	return kl_asprintf("admit: %s %s%s%s at %s", card->id,
			   trial->result == KL_RESULT_PASS ? "passed" : "failed",
			   trial->class_ ? ", " : "", trial->class_ ? trial->class_ : "",
			   kl_level_name(trial->level));
}

/*
 * Add the trial to the card; if it passed, also add rows of `effect`. Takes ownership of the
 * strings of `trial`.
 */
static void add_trial(struct kl_card *card, struct kl_card_trial *trial,
		      const struct kl_contract *contract, const struct kl_event *event)
{
	if (trial->result == KL_RESULT_PASS)
		add_rows(card, trial, contract, event);
	kl_card_add_trial(card, trial);
}

/* Find the trial's row by its state and number. */
static const struct kl_card_trial *find_row(const struct kl_card *card, const struct kl_admit *work,
					    int64_t trial)
{
	char hex[KL_OID_HEX];

	kl_oid_hex(hex, &state_of(work)->commit);
	for (size_t i = 0; i < card->ver.n; i++)
		if (!card->ver.v[i].retracted && !card->ver.v[i].foreign &&
		    card->ver.v[i].trial == trial && !strcmp(card->ver.v[i].state, hex))
			return &card->ver.v[i];
	return NULL;
}

static int put_trial(struct trial *trial, struct kl_admit *work, const char *platform)
{
	const struct kl_contract *contract = state_of(work)->state->contract;
	KL_AUTO(kl_card_freep) struct kl_card *partner = work->partner ?
								 kl_card_copy(work->partner) :
								 NULL;
	KL_AUTO(kl_freep) char *subject = NULL, *partner_subject = NULL;
	KL_AUTO(kl_map_release) struct kl_map events = { .free_value = kl_event_free_value };
	struct kl_library_change then = {
		.card = partner,
		.base = work->partner,
		.events = &events,
	};
	struct kl_library_change change = {
		.card = work->a->card,
		.base = work->old,
		.events = &events,
		.also = kl_keep_into,
		.payload = &work->keep,
		.then = trial->admits_partner ? &then : NULL,
	};
	struct kl_card_trial row;
	int64_t number;
	int err;

	add_event(&events, &trial->first);
	add_event(&events, &trial->pair);
	add_event(&events, &trial->alone);
	add_event(&events, &trial->control);
	add_event(&events, &trial->bare);
	add_event(&events, &trial->wrong);
	add_event(&events, &trial->step);
	fill_trial(&row, trial, work, platform);
	number = row.trial;
	change.subject = subject = subject_of(work->old, &row);
	add_trial(work->a->card, &row, contract, trial->counts->event);
	if (trial->admits_partner) {
		if ((err = fill_partner(&row, trial, work, platform)) < 0)
			return err;
		then.subject = partner_subject = subject_of(partner, &row);
		add_trial(partner, &row, contract, trial->step.event);
	}
	if ((err = KL_FAULT("admit-put")) < 0 ||
	    (err = kl_library_put(work->o->library, &change)) < 0)
		return err;
	work->a->trial = find_row(work->a->card, work, number);
	return 0;
}

/* Name the trial after card, state and number; its conversations have this name, too. */
static void name_trial(struct kl_admit *work)
{
	const struct kl_admit_state *state = state_of(work);
	char hex[KL_OID_HEX];

	kl_oid_hex(hex, &state->commit);
	work->name = kl_asprintf("%.44s-%.7s-%lld", work->old->id, hex,
				 (long long)state->trials + 1);
}

static int open_session(struct kl_admit *work)
{
	return work->o->rewriter ?
		       work->o->open(&work->session, state_of(work)->state->contract->workload,
				     work->o->payload) :
		       0;
}

/*
 * Use the state's gate event for the prompt, if there is one, because it also has measured times.
 */
static int find_facts(struct kl_admit *work)
{
	const struct kl_admit_state *state = state_of(work);
	KL_AUTO(kl_event_freep) struct kl_event *event = NULL;
	int err = kl_materialize_log_event(&event, work->o->repo, &state->commit, state->state,
					   NULL);

	if (!err && event) {
		kl_event_free(work->facts);
		work->facts = kl_steal(&event);
	}
	return err;
}

int kl_admit_trial(struct kl_admit *work)
{
	KL_AUTO(trial_release) struct trial trial = { .counts = NULL };
	struct kl_platform platform;
	int err;

	name_trial(work);
	work->chain = kl_asprintf("refs/klineage/trials/%s", work->old->id);
	work->keep = (struct kl_keep){ .repo = work->o->repo, .chain = work->chain };
	if ((err = kl_gate_platform(&platform, work->o->gate, state_of(work)->state)) < 0 ||
	    (err = kl_admit_progress_begin(work)) < 0 || (err = open_session(work)) < 0 ||
	    (work->session && (err = find_facts(work)) < 0) || (err = try_all(&trial, work)) < 0 ||
	    work->a->waiting)
		return err;
	err = put_trial(&trial, work, platform.id);
	return err < 0 ? err : kl_admit_progress_end(work);
}
