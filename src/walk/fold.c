/* SPDX-License-Identifier: Apache-2.0 */
#include "walk/fold.h"

#include <string.h>

#include "base/error.h"
#include "event/speed.h"
#include "walk/effect.h"
#include "walk/judge.h"

#define MAX_MEASUREMENTS 3

/*
 * Return true if the pending proposal may be folded: it takes back commits, and none of their authors
 * names a mechanism. A part of a compound step names no commits.
 */
static bool may_fold(const struct kl_walk *walk)
{
	const json_t *pending = kl_walk_pending(walk);

	return json_array_size(json_object_get(pending, "commits")) > 0 &&
	       !*kl_json_str_or(pending, "mechanism", "") &&
	       !kl_json_bool_or(walk->state, "keep_all", false);
}

bool kl_fold_is_due(const struct kl_sequencer *sequencer, const struct kl_event *event)
{
	return may_fold(&sequencer->op.walk) && kl_effect_of(event) == KL_EFFECT_NOTHING;
}

/* Return true if the interval of a state that passed is too wide to be a figure of a step. */
static bool lacks_figure(const struct kl_event *event)
{
	const struct kl_comparison *parent = kl_comparisons_parent(&event->profile.vs);

	return event->verdict == KL_VERDICT_PASS && parent && kl_speed_is_useless(&parent->ratio);
}

/* Return true if another measurement can tell more about the pending proposal. */
static bool is_worth_measuring(const struct kl_walk *walk, const struct kl_event *event)
{
	return lacks_figure(event) || (may_fold(walk) && kl_effect_is_hidden(event));
}

int kl_fold_measure(struct kl_judgement **judgement, struct kl_sequencer *sequencer)
{
	for (int i = 1; i < MAX_MEASUREMENTS && sequencer->judge_anew; i++) {
		struct kl_judgement *again = NULL;
		int err;

		if ((*judgement)->deferred ||
		    !is_worth_measuring(&sequencer->op.walk, (*judgement)->event))
			break;
		err = sequencer->judge_anew(&again, sequencer->op.pending, sequencer->op.state,
					    sequencer->payload);
		if (err < 0)
			return err;
		kl_judgement_free(*judgement);
		*judgement = again;
	}
	return 0;
}

/* --- states that are older than the last one that differs ------------------------- */

/*
 * The last step, and the oldest state of no effect that was compared with the result of this step.
 */
struct trail {
	json_t *step;
	const json_t *rec;
	struct kl_surface *goal, *candidate; /* the state before the step; the state of `rec` */
	git_oid goal_tree;
	struct kl_judgement *judgement;
};

static void trail_release(struct trail *trail)
{
	kl_surface_free(trail->goal);
	kl_surface_free(trail->candidate);
	kl_judgement_free(trail->judgement);
}

/* Find the trail of K_i. Return false if there is none, or if it was tried before. */
static bool find_trail(struct trail *trail, struct kl_walk *walk)
{
	json_t *steps = kl_walk_steps(walk), *rec;
	size_t n = json_array_size(steps), i;

	trail->step = json_array_get(steps, n - 1);
	if (!n || kl_json_bool_or(walk->state, "keep_all", false) || *kl_walk_rederiver(walk) ||
	    json_object_get(trail->step, "rederived") ||
	    !json_array_size(json_object_get(trail->step, "commits")) ||
	    !strcmp(kl_walk_str(walk, "trail"), kl_walk_tip(walk)))
		return false;
	json_array_foreach(kl_walk_rejections(walk), i, rec)
		if (!strcmp(kl_json_str_or(rec, "class", ""), "no-effect") &&
		    !strcmp(kl_json_str_or(rec, "on", ""), kl_walk_tip(walk)) &&
		    !strchr(kl_json_str_or(rec, "source", ""), '@'))
			trail->rec = rec;
	return trail->rec;
}

static int load_trail(struct trail *trail, const struct kl_opstate *op)
{
	git_oid commit, tree, goal;
	int err;

	if ((err = kl_oid_parse(&goal, kl_walk_goal(&op->walk))) < 0 ||
	    (err = kl_repo_tree_of(&trail->goal_tree, op->repo, &goal)) < 0 ||
	    (err = kl_opstate_goal(&trail->goal, op)) < 0 ||
	    (err = kl_oid_parse(&commit, kl_json_str_or(trail->rec, "commit", ""))) < 0 ||
	    (err = kl_repo_tree_of(&tree, op->repo, &commit)) < 0)
		return err;
	return kl_surface_from_tree(&trail->candidate, op->repo, &tree,
				    kl_walk_str(&op->walk, "dir"));
}

/* Make the proposal of the step to the older state from the last step, with more folded commits. */
static json_t *trail_proposal(const struct trail *trail)
{
	static const char *const keys[] = { "tokens", "source", "surface" };
	json_t *proposal = json_deep_copy(trail->step), *folded = json_array();
	char id[KL_DIGEST_HEX], edit[KL_DIGEST_HEX];

	json_array_extend(folded, json_object_get(trail->step, "folded"));
	json_array_extend(folded, json_object_get(trail->rec, "folded"));
	json_array_extend(folded, json_object_get(trail->rec, "commits"));
	kl_json_set(proposal, "folded", folded);
	for (size_t i = 0; i < KL_ARRAY_SIZE(keys); i++)
		kl_json_set_str(proposal, keys[i], kl_json_str_or(trail->rec, keys[i], ""));
	kl_proposal_id(id, trail->goal->digest, trail->candidate->digest);
	kl_proposal_edit(edit, trail->goal, trail->candidate);
	kl_json_set_str(proposal, "id", id);
	kl_json_set_str(proposal, "edit", edit);
	return proposal;
}

/*
 * Return the delta of the step to the older state: that of the last step if it is "compound" or if
 * the older state has the features of K_i; otherwise "unknown".
 */
static const char *trail_delta(const struct trail *trail, const struct kl_walk *walk)
{
	const char *delta = kl_json_str_or(trail->step, "delta", "unknown");
	struct kl_facts facts;
	const struct kl_strvec *older = &trail->judgement->event->facts.features;
	KL_AUTO(kl_strvec_release) struct kl_strvec moved = KL_STRVEC_INIT;

	kl_judge_facts_read(&facts, kl_walk_facts(walk));
	kl_strvec_minus(&moved, &facts.features, older);
	kl_strvec_minus(&moved, older, &facts.features);
	kl_facts_release(&facts);
	return !moved.n || !strcmp(delta, "compound") ? delta : "unknown";
}

/* Take back the last step, and accept the step to the older state in its place. */
static int replace_step(struct kl_sequencer *sequencer, struct trail *trail)
{
	struct kl_opstate *op = &sequencer->op;
	KL_AUTO(kl_freep) char *delta = kl_strdup(trail_delta(trail, &op->walk));
	json_t *proposal = trail_proposal(trail);

	json_array_remove(kl_walk_steps(&op->walk), json_array_size(kl_walk_steps(&op->walk)) - 1);
	trail->step = NULL;
	kl_walk_proposed(&op->walk, proposal);
	kl_surface_free(op->state);
	op->state = kl_steal(&trail->goal);
	op->tree = trail->goal_tree;
	kl_surface_free(op->pending);
	op->pending = kl_steal(&trail->candidate);
	return kl_judge_accept(sequencer, trail->judgement, delta);
}

int kl_fold_trail(bool *done, struct kl_sequencer *sequencer)
{
	KL_AUTO(trail_release) struct trail trail = { 0 };
	struct kl_walk *walk = &sequencer->op.walk;
	int err;

	*done = false;
	if (sequencer->op.dry || !find_trail(&trail, walk))
		return 0;
	kl_json_set_str(walk->state, "trail", kl_walk_tip(walk));
	if ((err = load_trail(&trail, &sequencer->op)) < 0 ||
	    (err = sequencer->judge(&trail.judgement, trail.candidate, trail.goal,
				    sequencer->payload)) < 0)
		return err;
	if (trail.judgement->deferred || kl_effect_of(trail.judgement->event) != KL_EFFECT_SPEED)
		return 0;
	*done = true;
	return replace_step(sequencer, &trail);
}
