/* SPDX-License-Identifier: Apache-2.0 */
#include "walk/judge.h"

#include <string.h>

#include "base/error.h"
#include "walk/effect.h"
#include "walk/fold.h"
#include "walk/rejection.h"
#include "walk/sequencer_parts.h"
#include "walk/step.h"
#include "walk/step_name.h"
#include "walk/walk_model.h"
#include "walk/zeroed.h"

/*
 * --- facts -----------------------------------------------------------------
 */

json_t *kl_judge_facts_json(const struct kl_facts *facts)
{
	json_t *object = json_object(), *list = json_array(), *traits = json_object();

	for (size_t i = 0; i < facts->features.n; i++)
		json_array_append_new(list, json_string(facts->features.v[i]));
	for (size_t i = 0; i < facts->traits.n; i++)
		kl_json_set_str(traits, facts->traits.e[i].key, facts->traits.e[i].value);
	kl_json_set(object, "features", list);
	if (facts->features_version > 1)
		kl_json_set_int(object, "features_version", facts->features_version);
	kl_json_set(object, "traits", traits);
	kl_json_set_str(object, "code", facts->code_digest);
	return object;
}

void kl_judge_facts_read(struct kl_facts *out, const json_t *value)
{
	const char *key;
	json_t *trait;

	*out = (struct kl_facts){ .traits = { .free_value = free } };
	kl_json_strings(&out->features, json_object_get(value, "features"));
	out->features_version = kl_json_int_or(value, "features_version", 1);
	json_object_foreach(json_object_get(value, "traits"), key, trait)
		if (json_is_string(trait))
			kl_map_put(&out->traits, key, kl_strdup(json_string_value(trait)));
	snprintf(out->code_digest, sizeof(out->code_digest), "%s",
		 kl_json_str_or(value, "code", ""));
}

/* Turn the claims that the audit confirms into facts, and set all others to "unknown". */
static void audit_traits(struct kl_facts *after, const json_t *pending, const json_t *audited)
{
	const char *key;
	json_t *claim;

	json_object_foreach(json_object_get(pending, "traits"), key, claim) {
		const char *seen = json_object_get(audited, key) ? json_string_value(claim) :
								   "unknown";

		if (json_is_string(claim))
			kl_map_put(&after->traits, key, kl_strdup(seen));
	}
}

/*
 * Return true if no primary feature of the mechanism is gone and the audit made a primary trait
 * "unknown": then nothing confirms that the mechanism was removed.
 */
static bool is_unconfirmed(const struct kl_mechanism *mechanism, const struct kl_facts *before,
			   const struct kl_facts *after)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec gone = KL_STRVEC_INIT;
	bool doubt = false;

	kl_features_minus(&gone, &before->features, &after->features, after->features_version);
	for (size_t i = 0; mechanism && i < mechanism->primary.n; i++) {
		const char *fact = mechanism->primary.v[i];
		const char *trait = strncmp(fact, "trait:", 6) ?
					    NULL :
					    kl_map_get(&after->traits, fact + 6);

		if (kl_strvec_has(&gone, fact))
			return false;
		doubt |= trait && !strcmp(trait, "unknown");
	}
	return doubt;
}

/* Put the claims and their audit into the event, and seal it again, because its id covers them. */
static void put_traits(struct kl_event *event, const struct kl_facts *facts, json_t *audited)
{
	struct kl_map *traits = &event->facts.traits;

	kl_map_release(traits);
	for (size_t i = 0; i < facts->traits.n; i++)
		kl_map_put(traits, facts->traits.e[i].key, kl_strdup(facts->traits.e[i].value));
	if (json_object_size(audited)) {
		json_decref(event->audit);
		event->audit = json_incref(audited);
	}
	kl_event_seal(event);
}

/*
 * --- accepting and rejecting -------------------------------------------------
 */

/* Append ", 1.42x slower", or nothing if the speed was not measured. */
static void add_speed(struct kl_buf *out, const struct kl_event *event)
{
	const struct kl_comparison *parent = kl_comparisons_parent(&event->profile.vs);
	int64_t ppm = parent ? parent->ratio.ppm : 0;

	if (ppm > 0 && ppm < 1000000)
		kl_buf_addf(out, ", %.2fx slower", 1e6 / (double)ppm);
	else if (ppm >= 1000000)
		kl_buf_addf(out, ", %.2fx faster", (double)ppm / 1e6);
}

static void tell_user(struct kl_sequencer *sequencer, const char *what, const json_t *pending,
		      const char *more)
{
	kl_progress_print(sequencer->progress, "%s %s in %s%s", what,
			  kl_json_str_or(pending, "action", "step"),
			  kl_json_str_or(pending, "locus", "?"), more);
}

/* Append a paragraph to the text of a step. */
static __attribute__((format(printf, 2, 3))) void add_paragraph(struct kl_step *step,
								const char *fmt, ...)
{
	struct kl_buf text = KL_BUF_INIT;
	va_list ap;

	kl_buf_addf(&text, "%s\n\n", step->text);
	va_start(ap, fmt);
	kl_buf_vaddf(&text, fmt, ap);
	va_end(ap);
	free(step->text);
	step->text = kl_buf_detach(&text);
}

static int accept_step(struct kl_sequencer *sequencer, struct kl_judgement *judgement,
		       struct kl_facts *after, const char *delta, const char *why)
{
	struct kl_opstate *op = &sequencer->op;
	KL_AUTO(kl_step_release) struct kl_step step = { 0 };
	KL_AUTO(kl_buf_release) struct kl_buf more = KL_BUF_INIT;
	char hex[KL_OID_HEX];
	git_oid oid, tree;
	struct kl_walk_seen seen = {
		.commit = hex,
		.surface = op->pending->digest,
		.delta = delta,
		.ns = judgement->event->profile.ns,
		.event = judgement->event->id,
	};
	int err;

	kl_step_from_json(&step, kl_walk_pending(&op->walk));
	step.kind = KL_STEP_BACK;
	free(step.delta);
	step.delta = kl_strdup(delta);
	if (*why)
		add_paragraph(&step, "It could not be split: %s", why);
	if ((err = kl_opstate_commit(&oid, &tree, op, &step)) < 0)
		return err;
	kl_oid_hex(hex, &oid);
	if ((err = kl_opstate_event(op, judgement->event, hex)) < 0)
		return err;
	add_speed(&more, judgement->event);
	if (!strcmp(delta, "compound"))
		kl_buf_adds(&more, " (compound)");
	tell_user(sequencer, "accepted", kl_walk_pending(&op->walk), more.ptr);
	seen.facts = kl_judge_facts_json(after);
	kl_walk_accepted(&op->walk, &seen);
	kl_surface_free(op->state);
	op->state = kl_steal(&op->pending);
	op->tree = tree;
	kl_surface_free(op->held);
	op->held = NULL;
	return kl_sequencer_save(sequencer, "step");
}

/*
 * Return a phrase that tells where a rejected older state is right; "" if no such place is known.
 */
static const char *right_where(const json_t *pending)
{
	if (kl_json_bool_or(pending, "zeroed", false))
		return ", but right if its outputs start at zero";
	return strcmp(kl_json_str_or(pending, "effect", ""), "generality") ?
		       "" :
		       ", but right at the cases";
}

static int reject_step(struct kl_sequencer *sequencer, struct kl_judgement *judgement,
		       const char *class_)
{
	struct kl_opstate *op = &sequencer->op;
	const char *where = right_where(kl_walk_pending(&op->walk));
	KL_AUTO(kl_step_release) struct kl_step step = { 0 };
	KL_AUTO(kl_freep) char *more = NULL;
	char hex[KL_OID_HEX];
	git_oid oid, tree;
	struct kl_walk_seen seen = {
		.commit = hex,
		.surface = op->pending->digest,
		.class_ = class_,
		.event = judgement ? judgement->event->id : "",
		.ns = judgement ? judgement->event->profile.ns : 0,
	};
	int err;

	kl_step_from_json(&step, kl_walk_pending(&op->walk));
	step.kind = KL_STEP_REJECTED;
	free(step.class_);
	step.class_ = kl_strdup(class_);
	if (!*step.action) {
		free(step.action);
		step.action = kl_step_name_action(kl_walk_pending(&op->walk));
		kl_json_set_str(kl_walk_pending(&op->walk), "action", step.action);
	}
	if (judgement && *judgement->event->message)
		add_paragraph(&step, "%s", judgement->event->message);
	if (*where)
		add_paragraph(&step, "The state is %s%s.", class_, where);
	if ((err = kl_opstate_commit(&oid, &tree, op, &step)) < 0)
		return err;
	kl_oid_hex(hex, &oid);
	if (judgement && (err = kl_opstate_event(op, judgement->event, hex)) < 0)
		return err;
	more = kl_asprintf(": %s%s", class_, where);
	if (!kl_rejection_is_passed_over(step.rewriter, class_))
		tell_user(sequencer, "rejected", kl_walk_pending(&op->walk), more);
	kl_walk_rejected(&op->walk, &seen);
	kl_surface_free(op->pending);
	op->pending = NULL;
	return kl_sequencer_save(sequencer, "rejection");
}

static int hold_step(struct kl_sequencer *sequencer, const char *why)
{
	kl_json_set_str(kl_walk_pending(&sequencer->op.walk), "foreign", why);
	kl_walk_held(&sequencer->op.walk);
	sequencer->op.held = kl_steal(&sequencer->op.pending);
	return kl_sequencer_save(sequencer, "held for its parts");
}

struct judged {
	struct kl_judgement *judgement;
	struct kl_facts before, after;
	struct kl_step_name name;
};

static void judged_release(struct judged *judged)
{
	kl_judgement_free(judged->judgement);
	kl_facts_release(&judged->before);
	kl_facts_release(&judged->after);
	kl_step_name_release(&judged->name);
}

static void weigh_step(struct kl_walk_ruling *ruling, struct judged *judged,
		       const struct kl_sequencer *sequencer)
{
	const struct kl_walk *walk = &sequencer->op.walk;
	KL_AUTO(json_decrefp) json_t *facts = kl_judge_facts_json(&judged->judgement->event->facts);

	kl_judge_facts_read(&judged->before, kl_walk_facts(walk));
	kl_judge_facts_read(&judged->after, facts);
	ruling->same_code = kl_walk_has_code(walk, judged->after.code_digest) ||
			    (*judged->after.code_digest &&
			     !strcmp(judged->before.code_digest, judged->after.code_digest));
	kl_step_name_settle(&judged->name, sequencer, &judged->before, &judged->after);
	ruling->unknown = !judged->name.mechanism || judged->name.delta == KL_DELTA_UNMOVED;
	ruling->contradicted = judged->name.contradicted;
	ruling->compound = judged->name.mechanism && judged->name.delta == KL_DELTA_COMPOUND;
	ruling->whole = judged->name.whole;
}

/* Accept a step. First a model, if the walk has one, audits the traits that the step claims. */
static int accept_audited(struct kl_sequencer *sequencer, struct judged *judged, const char *delta)
{
	KL_AUTO(json_decrefp) json_t *audited = NULL;
	/* do not pay for an audit of a name that sources gave, because nobody claimed its traits */
	int err = judged->name.found ? 0 : kl_model_audit(&audited, sequencer);

	if (err < 0)
		return err;
	if (audited)
		audit_traits(&judged->after, kl_walk_pending(&sequencer->op.walk), audited);
	if (audited && !strcmp(delta, "clean") &&
	    is_unconfirmed(judged->name.mechanism, &judged->before, &judged->after))
		delta = "unknown";
	if (!strcmp(delta, "contradicted"))
		kl_step_name_take_back(&judged->name, sequencer, &judged->before, &judged->after);
	if (judged->after.traits.n)
		put_traits(judged->judgement->event, &judged->after, audited);
	return accept_step(sequencer, judged->judgement, &judged->after, delta,
			   judged->name.delta == KL_DELTA_COMPOUND ? judged->name.why.ptr : "");
}

/*
 * Hold the pending proposal. But if it would be held only because it takes back several commits,
 * and none of them can be tried alone, accept it.
 */
static int hold_or_accept(struct kl_sequencer *sequencer, struct judged *judged,
			  const struct kl_walk_ruling *ruling)
{
	bool compound = ruling->compound && !ruling->whole, part = true;
	int err = compound ? 0 : kl_sequencer_has_commit(&part, sequencer);

	if (err < 0)
		return err;
	if (!part)
		return accept_audited(sequencer, judged, kl_walk_delta(ruling));
	return hold_step(sequencer, compound ? judged->name.why.ptr : "");
}

static void tell_title(struct kl_sequencer *sequencer)
{
	const json_t *pending = kl_walk_pending(&sequencer->op.walk);
	const char *action = kl_json_str_or(pending, "action", "");

	kl_progress_title(sequencer->progress, "[%zu] %s in %s (%s)",
			  json_array_size(kl_walk_steps(&sequencer->op.walk)) + 1,
			  *action ? action : "older state", kl_json_str_or(pending, "locus", "?"),
			  kl_json_str_or(pending, "rewriter", "?"));
}

/*
 * Record the effect of the pending proposal. If an older state is wrong, find out whether it is
 * right when its outputs start at zero (zeroed.h).
 */
static int set_effect(struct kl_sequencer *sequencer, const struct kl_event *event)
{
	json_t *pending = kl_walk_pending(&sequencer->op.walk);
	enum kl_effect effect = kl_effect_of(event);
	bool wrong = event->failure == KL_FAILURE_WRONG_ALL ||
		     event->failure == KL_FAILURE_WRONG_EDGE ||
		     event->failure == KL_FAILURE_NONDETERMINISTIC;
	bool right = false;
	int err = 0;

	if (wrong && effect == KL_EFFECT_UNKNOWN && json_object_get(pending, "commits"))
		err = kl_zeroed_is_right(&right, sequencer, sequencer->op.pending);
	if (right) {
		effect = KL_EFFECT_GENERALITY;
		kl_json_set_bool(pending, "zeroed", true);
	}
	kl_json_set_str(pending, "effect", kl_effect_name(effect));
	return err;
}

int kl_judge_pending(struct kl_sequencer *sequencer)
{
	struct kl_walk *walk = &sequencer->op.walk;
	KL_AUTO(judged_release) struct judged judged = { .name = KL_STEP_NAME_INIT };
	struct kl_walk_ruling ruling = { 0 };
	const char *class_, *delta;
	int err;

	tell_title(sequencer);
	if (!sequencer->op.pending)
		return kl_error(
			KL_EINVALID,
			"the files of the pending proposal are missing; discard the operation "
			"with --abort");
	if ((err = sequencer->judge(&judged.judgement, sequencer->op.pending, sequencer->op.state,
				    sequencer->payload)) < 0 ||
	    (err = kl_fold_measure(&judged.judgement, sequencer)) < 0)
		return err;
	if (judged.judgement->deferred)
		return KL_JUDGE_LATER;
	if (judged.judgement->event->verdict == KL_VERDICT_NOT_RUN)
		return kl_error(KL_ECANNOT, "the gate cannot judge here: %s",
				judged.judgement->event->message);
	ruling.verdict = judged.judgement->event->verdict;
	ruling.class_ = kl_event_class(judged.judgement->event);
	ruling.no_effect = kl_fold_is_due(sequencer, judged.judgement->event);
	if ((err = set_effect(sequencer, judged.judgement->event)) < 0)
		return err;
	if (ruling.verdict == KL_VERDICT_PASS)
		weigh_step(&ruling, &judged, sequencer);
	switch (kl_walk_decide(&class_, &delta, walk, &ruling)) {
	case KL_CHOICE_ACCEPT:
		return accept_audited(sequencer, &judged, delta);
	case KL_CHOICE_HOLD:
		return hold_or_accept(sequencer, &judged, &ruling);
	default:
		if (judged.after.traits.n)
			put_traits(judged.judgement->event, &judged.after, NULL);
		return reject_step(sequencer, judged.judgement, class_);
	}
}

int kl_judge_accept(struct kl_sequencer *sequencer, struct kl_judgement *judgement,
		    const char *delta)
{
	return accept_step(sequencer, judgement, &judgement->event->facts, delta, "");
}

int kl_judge_skip(struct kl_sequencer *sequencer)
{
	return reject_step(sequencer, NULL, "skipped");
}
