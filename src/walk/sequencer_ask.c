/* SPDX-License-Identifier: Apache-2.0 */
/* sequencer_ask - asks the rewriters or the user for the next step */
#include <string.h>

#include "base/error.h"
#include "walk/fold.h"
#include "walk/sequencer_parts.h"
#include "walk/walk_model.h"

static bool was_tried(const char *id, const char *surface, const char *edit, bool again,
		      void *payload)
{
	const struct kl_sequencer *sequencer = payload;

	return kl_walk_tried(&sequencer->op.walk, id, surface, edit, again);
}

static void add_known(struct kl_map *out, void *payload)
{
	const struct kl_sequencer *sequencer = payload;

	kl_walk_known(out, &sequencer->op.walk);
}

static void say_reason(const char *text, void *payload)
{
	struct kl_sequencer *sequencer = payload;

	kl_progress_print(sequencer->progress, "%s", text);
}

int kl_sequencer_aim(struct kl_sequencer *sequencer)
{
	struct kl_rewrite *rw = &sequencer->rw;
	int err;

	rw->repo = sequencer->repo;
	rw->jail = sequencer->jail;
	rw->state = sequencer->op.state;
	rw->tree = sequencer->op.tree;
	rw->edit_dir = sequencer->edit_dir;
	rw->steps = kl_walk_steps(&sequencer->op.walk);
	rw->rejections = kl_walk_rejections(&sequencer->op.walk);
	rw->tried = was_tried;
	rw->known = add_known;
	rw->say = sequencer->op.dry ? NULL : say_reason;
	rw->payload = sequencer;
	if ((err = kl_model_aim(rw, sequencer)) < 0)
		return err;
	return kl_oid_parse(&rw->expert, kl_walk_str(&sequencer->op.walk, "expert"));
}

/* Make a proposal from its record and a copy of its files. */
static int load_proposal(struct kl_proposal **out, const json_t *rec,
			 const struct kl_surface *files)
{
	KL_AUTO(kl_surface_freep) struct kl_surface *copy = NULL;
	int err = kl_surface_with(&copy, files, NULL, 0);

	if (!err)
		err = kl_proposal_from_json(out, rec, copy);
	if (!err)
		copy = NULL;
	return err;
}

int kl_sequencer_has_commit(bool *out, struct kl_sequencer *sequencer)
{
	KL_AUTO(kl_proposal_freep) struct kl_proposal *whole = NULL, *part = NULL;
	int err;

	*out = false;
	if ((err = kl_sequencer_aim(sequencer)) < 0 ||
	    (err = load_proposal(&whole, kl_walk_pending(&sequencer->op.walk),
				 sequencer->op.pending)) < 0)
		return err;
	if (whole->commits.n > 1)
		err = kl_history_split(&part, &sequencer->rw, whole);
	*out = part;
	return err;
}

int kl_sequencer_propose(struct kl_sequencer *sequencer, struct kl_proposal *proposal)
{
	kl_walk_proposed(&sequencer->op.walk, kl_proposal_to_json(proposal));
	kl_surface_free(sequencer->op.pending);
	sequencer->op.pending = kl_steal(&proposal->candidate);
	return kl_sequencer_save(sequencer, "proposal");
}

/*
 * Return the list of the walk's rewriters, without "stepwise" in a speculative walk, which asks no
 * user. The caller frees it.
 */
static char *list_rewriters(const struct kl_sequencer *sequencer)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec words = KL_STRVEC_INIT;
	struct kl_buf list = KL_BUF_INIT;

	kl_strvec_split(&words, kl_walk_str(&sequencer->op.walk, "rewriters"), ", ");
	for (size_t i = 0; i < words.n; i++)
		if (!sequencer->op.dry || strcmp(words.v[i], "stepwise"))
			kl_buf_addf(&list, "%s%s", list.len ? "," : "", words.v[i]);
	return kl_buf_detach(&list);
}

/* Propose a part of the held proposal. If no part is left, propose the whole as compound. */
static int ask_for_part(struct kl_sequencer *sequencer)
{
	KL_AUTO(kl_proposal_freep) struct kl_proposal *whole = NULL, *proposal = NULL;
	int err = load_proposal(&whole, kl_walk_held_proposal(&sequencer->op.walk),
				sequencer->op.held);

	if (!err)
		err = kl_rewrite_split(&proposal, &sequencer->rw, whole);
	/* no error: there is no money left to ask a model to split the proposal */
	if (err == KL_ENO) {
		kl_error_clear();
		err = 0;
	}
	if (err < 0)
		return err;
	if (proposal)
		return kl_sequencer_propose(sequencer, proposal);
	kl_walk_exhausted(&sequencer->op.walk);
	sequencer->op.pending = kl_steal(&sequencer->op.held);
	return kl_sequencer_save(sequencer, "compound");
}

int kl_sequencer_ask(struct kl_sequencer *sequencer)
{
	KL_AUTO(kl_proposal_freep) struct kl_proposal *proposal = NULL;
	KL_AUTO(kl_freep) char *list = list_rewriters(sequencer);
	const char *limit = kl_walk_limit(&sequencer->op.walk);
	bool stop = false;
	int err;

	if ((err = kl_sequencer_aim(sequencer)) < 0)
		return err;
	if (kl_walk_held_proposal(&sequencer->op.walk))
		return ask_for_part(sequencer);
	if (limit)
		return kl_sequencer_end(sequencer, limit);
	kl_progress_step(sequencer->progress, "looking for an optimization to remove");
	err = kl_rewrite_next(&proposal, &stop, &sequencer->rw, list);
	kl_walk_skipped(&sequencer->op.walk, sequencer->rw.skipped, sequencer->rw.unreadable);
	if (err == KL_ENO && kl_rewriters_model(list)) {
		kl_progress_print(sequencer->progress, "%s", kl_error_last());
		kl_error_clear();
		return kl_sequencer_end(sequencer, "budget");
	}
	if (err < 0)
		return err;
	if (!proposal || strcmp(proposal->rewriter, "history") != 0) {
		bool folded;

		err = kl_fold_trail(&folded, sequencer);
		if (err < 0 || folded)
			return err;
	}
	if (proposal)
		return kl_sequencer_propose(sequencer, proposal);
	if (!stop)
		return kl_sequencer_end(sequencer,
					sequencer->rw.limited ? "rejection-limit" : "complete");
	kl_walk_waiting(&sequencer->op.walk);
	return kl_sequencer_save(sequencer, "waiting for an edit");
}

/* --- proposals of the user ---------------------------------------------------- */

int kl_sequencer_collect(struct kl_sequencer *sequencer, const struct kl_claim *claim)
{
	KL_AUTO(kl_proposal_freep) struct kl_proposal *proposal = NULL;
	int err;

	if (kl_walk_next(&sequencer->op.walk) != KL_WALK_WAIT)
		return 0; /* the walk does not wait for an edit, so there is none to collect */
	if ((err = kl_sequencer_aim(sequencer)) < 0 ||
	    (err = kl_stepwise_collect(&proposal, &sequencer->rw, claim)) < 0)
		return err;
	if (proposal)
		return kl_sequencer_propose(sequencer, proposal);
	err = kl_error(KL_EINVALID,
		       "no new proposal in '%s': the files are unchanged or were already judged",
		       sequencer->edit_dir);
	return kl_error_hint(err, "edit a source file there and use --continue, or end the walk "
				  "with --quit");
}

int kl_sequencer_take(struct kl_sequencer *sequencer, const struct kl_envelope *step)
{
	KL_AUTO(kl_proposal_freep) struct kl_proposal *proposal = NULL;
	int err;

	if (kl_walk_next(&sequencer->op.walk) != KL_WALK_WAIT)
		return kl_error(KL_EINVALID, "the walk is not waiting for a step; use --continue "
					     "without --step");
	if ((err = kl_sequencer_aim(sequencer)) < 0 ||
	    (err = kl_rewrite_check_names(&sequencer->rw, step)) < 0 ||
	    (err = kl_rewrite_take(&proposal, &sequencer->rw, step, "stepwise", "step")) < 0)
		return err;
	return kl_sequencer_propose(sequencer, proposal);
}
