/* SPDX-License-Identifier: Apache-2.0 */
#include "walk/derive.h"

#include <string.h>

#include "base/error.h"
#include "event/speed.h"
#include "walk/judge.h"
#include "walk/walk_model.h"

static int save_walk(struct kl_sequencer *sequencer, const char *what)
{
	KL_AUTO(kl_freep) char *text = kl_asprintf("klineage deopt: %s", what);

	return kl_opstate_save(&sequencer->op, text);
}

static void drop_pending(struct kl_opstate *op)
{
	kl_surface_free(op->pending);
	op->pending = NULL;
}

static const char *member_text(const json_t *value, const char *key)
{
	return kl_json_str_or(value, key, "");
}

static const char *step_name(const json_t *record)
{
	return *member_text(record, "mechanism") ? member_text(record, "mechanism") :
						   member_text(record, "action");
}

static void tell_user(struct kl_sequencer *sequencer, const char *what)
{
	const json_t *step = kl_walk_step(&sequencer->op.walk);

	kl_progress_print(sequencer->progress, "  %s in %s: %s", step_name(step),
			  member_text(step, "locus"), what);
}

static void tell_title(struct kl_sequencer *sequencer, const char *what)
{
	const struct kl_walk *walk = &sequencer->op.walk;
	const json_t *step = kl_walk_step(walk);

	kl_progress_title(sequencer->progress, "[%zu] restore %s in %s, attempt %zu: %s",
			  json_array_size(kl_walk_steps(walk)), step_name(step),
			  member_text(step, "locus"), json_array_size(kl_walk_attempts(walk)) + 1,
			  what);
}

/*
 * --- asking ------------------------------------------------------------------
 */

static const struct kl_event *find_known(const char *id, void *payload)
{
	return kl_opstate_known(payload, id);
}

static int ask_rewriter(struct kl_proposal **out, char **why, struct kl_sequencer *sequencer)
{
	struct kl_walk *walk = &sequencer->op.walk;
	struct kl_rederive rederive = {
		.repo = sequencer->repo,
		.name = kl_walk_str(walk, "name"),
		.rewriter = kl_walk_rederiver(walk),
		.step = (int)json_array_size(kl_walk_steps(walk)),
		.before = sequencer->op.state,
		.before_ns = kl_json_int_or(walk->state, "ns", 0),
		.record = kl_walk_step(walk),
		.goal = kl_opstate_known(&sequencer->op, kl_walk_goal_event(walk)),
		.attempts = kl_walk_attempts(walk),
		.event = find_known,
		.payload = &sequencer->op,
	};
	int err;

	*out = NULL;
	*why = NULL;
	if ((err = kl_model_session(&rederive.session, sequencer)) < 0)
		return err;
	if (!sequencer->model.rederive)
		return kl_error(KL_EINVALID,
				"the walk must re-derive its steps, but no model is available");
	return sequencer->model.rederive(out, why, &rederive);
}

static int give_up(struct kl_sequencer *sequencer, const char *class_, const char *what)
{
	tell_user(sequencer, what);
	kl_walk_underived(&sequencer->op.walk, class_, NULL);
	return save_walk(sequencer, class_);
}

/* Count a reply without a usable edit as a failed attempt. */
static int refuse_unusable(struct kl_sequencer *sequencer, const char *why)
{
	static const struct kl_walk_seen nothing = { .class_ = "unusable" };
	KL_AUTO(kl_freep) char *text = kl_asprintf("not re-derived, the reply is unusable: %s",
						   why);

	tell_user(sequencer, text);
	kl_walk_attempted(&sequencer->op.walk, &nothing, why);
	return save_walk(sequencer, "unusable");
}

int kl_derive_ask(struct kl_sequencer *sequencer)
{
	KL_AUTO(kl_proposal_freep) struct kl_proposal *proposal = NULL;
	KL_AUTO(kl_freep) char *why = NULL;
	int err;

	tell_title(sequencer, kl_walk_rederiver(&sequencer->op.walk));
	err = ask_rewriter(&proposal, &why, sequencer);
	if (err == KL_ENO) {
		KL_AUTO(kl_freep) char *text = kl_asprintf("no further step is re-derived: %s",
							   kl_error_last());

		kl_error_clear();
		return give_up(sequencer, "budget", text);
	}
	if (err == KL_ENOTFOUND) { /* with the provider `replay`, the recording has no such reply */
		KL_AUTO(kl_freep) char *text = kl_asprintf("not re-derived: %s", kl_error_last());

		kl_error_clear();
		return give_up(sequencer, "gave-up", text);
	}
	if (err == KL_ETIMEOUT) { /* the sequencer counts the timeout and asks again */
		static const struct kl_walk_seen nothing = { .class_ = "timeout" };

		kl_walk_attempted(&sequencer->op.walk, &nothing, NULL);
	}
	if (err < 0)
		return err;
	if (!proposal)
		return why ? refuse_unusable(sequencer, why) :
			     give_up(sequencer, "gave-up", "not re-derived, the model gave up");
	kl_walk_derived(&sequencer->op.walk, kl_proposal_to_json(proposal));
	drop_pending(&sequencer->op);
	sequencer->op.pending = kl_steal(&proposal->candidate);
	return save_walk(sequencer, "re-derivation");
}

int kl_derive_skip(struct kl_sequencer *sequencer)
{
	drop_pending(&sequencer->op);
	return give_up(sequencer, "skipped", "not re-derived, skipped");
}

/*
 * --- judging -----------------------------------------------------------------
 */

/* The attempt that is being judged. */
struct trial {
	struct kl_sequencer *sequencer;
	struct kl_surface *goal; /* K_i */
	struct kl_judgement *judgement;
	const struct kl_event *event; /* borrowed: event of `judgement`, or K_i's own event */
	struct kl_walk_derived_ruling ruling;
};

static void trial_release(struct trial *trial)
{
	kl_surface_free(trial->goal);
	kl_judgement_free(trial->judgement);
}

static bool is_counted(const struct kl_walk *walk, const struct kl_event *event)
{
	size_t i;
	json_t *entry;

	json_array_foreach(kl_walk_measurements(walk), i, entry)
		if (!strcmp(member_text(entry, "id"), event->id))
			return true;
	return false;
}

static int judge_against(struct trial *trial, const struct kl_surface *parent)
{
	struct kl_sequencer *sequencer = trial->sequencer;
	int err;

	kl_judgement_free(kl_steal(&trial->judgement));
	err = sequencer->judge(&trial->judgement, sequencer->op.pending, parent,
			       sequencer->payload);
	/*
	 * the gate may answer with a cached event; if the attempt already counts that event,
	 * measure again
	 */
	if (!err && !trial->judgement->deferred && sequencer->judge_anew &&
	    is_counted(&sequencer->op.walk, trial->judgement->event)) {
		kl_judgement_free(kl_steal(&trial->judgement));
		err = sequencer->judge_anew(&trial->judgement, sequencer->op.pending, parent,
					    sequencer->payload);
	}
	if (err < 0)
		return err;
	if (trial->judgement->deferred)
		return KL_JUDGE_LATER;
	trial->event = trial->judgement->event;
	if (trial->event->verdict == KL_VERDICT_NOT_RUN)
		return kl_error(KL_ECANNOT, "the gate cannot judge here: %s",
				trial->event->message);
	return 0;
}

static bool has_feature(const json_t *features, const char *name)
{
	size_t i;
	json_t *entry;

	json_array_foreach(features, i, entry)
		if (!strcmp(json_string_value(entry) ? json_string_value(entry) : "", name))
			return true;
	return false;
}

/* Check that the fact is one that every kernel with the mechanism has in its machine code. */
static bool is_sure(const struct kl_mechanism *mechanism, const char *fact)
{
	return strncmp(fact, "trait:", 6) != 0 && !kl_strvec_has(&mechanism->incidental, fact);
}

/*
 * Set *missing if the attempt lacks a primary fact of the step's mechanism that K_i has and K_{i-1}
 * lacks: whatever made the attempt fast, the step's mechanism is not in it.
 */
static int find_missing(bool *missing, const struct trial *trial)
{
	struct kl_opstate *op = &trial->sequencer->op;
	const struct kl_event *goal = kl_opstate_known(op, kl_walk_goal_event(&op->walk));
	const json_t *had = json_object_get(kl_walk_facts(&op->walk), "features");
	KL_AUTO(kl_mechanisms_release) struct kl_mechanisms mechanisms = { 0 };
	const struct kl_mechanism *mechanism;
	int err = kl_mechanisms_load_shipped(&mechanisms);

	*missing = false;
	if (err < 0)
		return err;
	mechanism = kl_mechanisms_find(&mechanisms,
				       member_text(kl_walk_step(&op->walk), "mechanism"));
	for (size_t i = 0; mechanism && goal && i < mechanism->primary.n; i++) {
		const char *fact = mechanism->primary.v[i];

		*missing |= is_sure(mechanism, fact) && !has_feature(had, fact) &&
			    kl_strvec_has(&goal->facts.features, fact) &&
			    !kl_strvec_has(&trial->event->facts.features, fact);
	}
	return 0;
}

/*
 * Judge the attempt against K_i. An attempt with the machine code of K_i cannot be compared with
 * K_i, so it is judged alone. An attempt with the files of K_i is not judged: it takes K_i's event.
 */
static int judge_trial(struct trial *trial)
{
	struct kl_opstate *op = &trial->sequencer->op;
	const char *before = kl_json_str_or(kl_walk_facts(&op->walk), "code", "");
	int err;

	if (!strcmp(op->pending->digest, trial->goal->digest)) {
		trial->event = kl_opstate_known(op, kl_walk_goal_event(&op->walk));
		trial->ruling.verdict = KL_VERDICT_PASS;
		trial->ruling.class_ = "";
		trial->ruling.same_code = true;
		return trial->event ?
			       0 :
			       kl_error(KL_EINVALID, "the event of the state to re-derive is "
						     "missing; discard the operation with --abort");
	}
	if ((err = judge_against(trial, trial->goal)))
		return err;
	if (trial->event->failure == KL_FAILURE_NO_CHANGE) {
		trial->ruling.same_code = true;
		if ((err = judge_against(trial, NULL)))
			return err;
	}
	trial->ruling.verdict = trial->event->verdict;
	trial->ruling.class_ = kl_event_class(trial->event);
	trial->ruling.unchanged = *before && !strcmp(before, trial->event->facts.code_digest);
	if (kl_event_is_against(trial->event, trial->goal->digest)) {
		trial->ruling.not_slower = kl_speed_is_not_slower(&trial->event->profile);
		trial->ruling.slower = kl_speed_is_slower(&trial->event->profile);
	}
	return find_missing(&trial->ruling.missing, trial);
}

/*
 * Commit the attempt and add all its events. `class_` is the class of its failure; NULL if it is a
 * success.
 */
static int keep_trial(char hex[KL_OID_HEX], struct trial *trial, const char *class_)
{
	struct kl_opstate *op = &trial->sequencer->op;
	KL_AUTO(kl_step_release) struct kl_step step = { 0 };
	bool own = trial->judgement != NULL;
	git_oid oid, tree;
	size_t i;
	json_t *entry;
	int err;

	kl_step_from_attempt(&step, kl_walk_step(&op->walk), kl_walk_pending(&op->walk));
	step.kind = class_ ? KL_STEP_REJECTED : KL_STEP_FORWARD;
	step.forward = class_ != NULL;
	step.class_ = class_ ? kl_strdup(class_) : NULL;
	step.derivation = kl_strdup(kl_walk_derivation(kl_walk_pending(&op->walk)));
	if (own && *trial->event->message) {
		char *text = kl_asprintf("%s\n\n%s", step.text, trial->event->message);

		free(step.text);
		step.text = text;
	}
	if ((err = kl_opstate_commit(&oid, &tree, op, &step)) < 0)
		return err;
	kl_oid_hex(hex, &oid);
	json_array_foreach(kl_walk_measurements(&op->walk), i, entry) {
		KL_AUTO(kl_event_freep) struct kl_event *measured = kl_event_from_json(entry);

		if ((err = kl_opstate_event(op, measured, hex)) < 0)
			return err;
	}
	if (own && !is_counted(&op->walk, trial->event))
		err = kl_opstate_event(op, trial->judgement->event, hex);
	return err;
}

static int take_trial(struct trial *trial)
{
	struct kl_opstate *op = &trial->sequencer->op;
	char hex[KL_OID_HEX];
	struct kl_walk_seen seen = {
		.commit = hex,
		.surface = op->pending->digest,
		.event = trial->event->id,
		.ns = trial->event->profile.ns,
	};
	int err = keep_trial(hex, trial, NULL);

	if (err < 0)
		return err;
	tell_user(trial->sequencer, !trial->judgement       ? "re-derived, the same files" :
				    trial->ruling.same_code ? "re-derived, the same machine code" :
							      "re-derived");
	if (kl_json_bool_or(kl_walk_pending(&op->walk), "unisolated", false))
		tell_user(trial->sequencer,
			  "unisolated, since the command could see the repository");
	kl_walk_rederived(&op->walk, &seen);
	drop_pending(op);
	return save_walk(trial->sequencer, "re-derived");
}

static int refuse_trial(struct trial *trial, const char *class_, bool last)
{
	struct kl_opstate *op = &trial->sequencer->op;
	KL_AUTO(kl_freep) char *what = kl_asprintf("not re-derived: %s", class_);
	char hex[KL_OID_HEX];
	struct kl_walk_seen seen = {
		.commit = hex,
		.surface = op->pending->digest,
		.event = trial->event->id,
		.class_ = class_,
		.ns = trial->judgement ? trial->event->profile.ns : 0,
	};
	int err = keep_trial(hex, trial, class_);

	if (err < 0)
		return err;
	tell_user(trial->sequencer, what);
	if (last)
		kl_walk_underived(&op->walk, class_, &seen);
	else
		kl_walk_attempted(&op->walk, &seen, NULL);
	drop_pending(op);
	return save_walk(trial->sequencer, what);
}

static int measure_again(struct trial *trial)
{
	kl_walk_measured(&trial->sequencer->op.walk, kl_event_json(trial->event));
	tell_user(trial->sequencer, "the measurement is too noisy; measuring again");
	return save_walk(trial->sequencer, "measured");
}

int kl_derive_judge(struct kl_sequencer *sequencer)
{
	KL_AUTO(trial_release) struct trial trial = { .sequencer = sequencer };
	enum kl_walk_derivation choice;
	const char *class_;
	int err;

	tell_title(sequencer, "gate");
	if (!sequencer->op.pending)
		return kl_error(KL_EINVALID, "the files of the pending proposal are missing; "
					     "discard the operation with --abort");
	if ((err = kl_opstate_goal(&trial.goal, &sequencer->op)) < 0 || (err = judge_trial(&trial)))
		return err;
	choice = kl_walk_decide_derived(&class_, &sequencer->op.walk, &trial.ruling);
	if (choice == KL_DERIVED_MEASURE &&
	    (!sequencer->judge_anew || is_counted(&sequencer->op.walk, trial.event))) {
		choice = KL_DERIVED_UNSHOWN; /* no further measurement is possible */
		class_ = "not-shown";
	}
	switch (choice) {
	case KL_DERIVED_TAKE:
		return take_trial(&trial);
	case KL_DERIVED_MEASURE:
		return measure_again(&trial);
	default:
		return refuse_trial(&trial, class_, choice == KL_DERIVED_UNSHOWN);
	}
}
