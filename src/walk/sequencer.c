/* SPDX-License-Identifier: Apache-2.0 */
#include "walk/sequencer.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/fault.h"
#include "base/fs.h"
#include "rewrite/dialogue.h"
#include "walk/derive.h"
#include "walk/finish.h"
#include "walk/judge.h"
#include "walk/sequencer_parts.h"
#include "walk/speculate.h"

void kl_lineage_ref(char ref[256], const char *kind, const char *workload, const char *name)
{
	const char *top = strcmp(kind, "rejected") ? "refs/heads/klineage" : "refs/klineage";

	snprintf(ref, 256, "%s/%s/%s/%s", top, kind, workload, name);
}

void kl_sequencer_release(struct kl_sequencer *sequencer)
{
	kl_rewrite_release(&sequencer->rw);
	kl_opstate_release(&sequencer->op);
	kl_lock_release(&sequencer->lock);
	free(sequencer->edit_dir);
	free(sequencer->why_not);
	sequencer->edit_dir = sequencer->why_not = NULL;
}

/* --- running --------------------------------------------------------------- */

int kl_sequencer_save(struct kl_sequencer *sequencer, const char *what)
{
	KL_AUTO(kl_freep) char *text = kl_asprintf("klineage deopt: %s", what);

	return kl_opstate_save(&sequencer->op, text);
}

int kl_sequencer_end(struct kl_sequencer *sequencer, const char *termination)
{
	struct kl_commit spare = { 0 };
	git_oid probe;
	char *author = NULL;
	int err;
	/* write a commit, so that git's own rules give the author and the time */
	struct kl_commit_spec spec = { .tree = sequencer->op.tree,
				       .message = "klineage deopt: end\n" };

	if (sequencer->op.dry) {
		kl_walk_end(&sequencer->op.walk, termination, 0, "", 0);
		return 0;
	}
	if ((err = kl_repo_commit_write(&probe, sequencer->repo, &spec)) < 0 ||
	    (err = kl_repo_commit_read(&spare, sequencer->repo, &probe)) < 0)
		return err;
	author = kl_strdup(spare.author);
	kl_walk_end(&sequencer->op.walk, termination, spare.author_time, author,
		    spare.author_offset);
	kl_commit_release(&spare);
	free(author);
	kl_surface_free(sequencer->op.pending);
	kl_surface_free(sequencer->op.held);
	sequencer->op.pending = sequencer->op.held = NULL;
	return kl_sequencer_save(sequencer, termination);
}

static int nothing_accepted(const struct kl_sequencer *sequencer, const struct kl_outcome *out)
{
	KL_AUTO(kl_freep) char *passed_over = kl_outcome_passed_over(out);
	const char *expert = kl_walk_str(&sequencer->op.walk, "expert");
	int err;

	if (out->passed_over.no_effect && !out->rejections)
		err = kl_error(KL_ENO,
			       "no older state of %.7s differs in speed, so there is no "
			       "step to record",
			       expert);
	else
		err = kl_error(KL_ENO,
			       "nothing could be removed from %.7s: %zu proposal%s rejected, none "
			       "accepted",
			       expert, out->rejections, out->rejections == 1 ? "" : "s");
	if (*passed_over)
		kl_error_hint(err, "passed over %s", passed_over);
	if (out->passed_over.no_effect)
		kl_error_hint(err, "add a case at which these states differ in speed, or keep them "
				   "as steps with --keep-all");
	return err;
}

static int finish_walk(struct kl_sequencer *sequencer, struct kl_outcome *out)
{
	int err;

	kl_outcome_fill(out, sequencer);
	kl_progress_title(sequencer->progress, "writing the lineage");
	if ((err = kl_finish_write(&sequencer->op, out)) < 0)
		return err;
	kl_fs_remove(sequencer->edit_dir);
	return out->steps ? 0 : nothing_accepted(sequencer, out);
}

/* --- results of a runner ------------------------------------------------------ */

static json_t *awaited_json(const struct kl_transfer *sent, json_t *candidates)
{
	json_t *value = json_object();

	kl_json_set_str(value, "file", sent->file);
	kl_json_set_str(value, "bundle", sent->digest);
	kl_json_set_str(value, "command", sent->command);
	kl_json_set_int(value, "jobs", (int64_t)sent->jobs);
	json_object_set(value, "candidates", candidates);
	return value;
}

/*
 * Fail if the current job is the one that this run sent last: no result came back for it, so it
 * would be sent again and again.
 */
static int check_sent(struct kl_sequencer *sequencer)
{
	const struct kl_surface *surface = sequencer->op.pending ? sequencer->op.pending :
								   sequencer->op.state;

	if (!strcmp(sequencer->sent_for, surface->digest))
		return kl_error(KL_ECANNOT, "no result came back for the surface %.12s%s%s",
				surface->digest, sequencer->why_not ? ": " : "",
				sequencer->why_not ? sequencer->why_not : "");
	memcpy(sequencer->sent_for, surface->digest, sizeof(sequencer->sent_for));
	return 0;
}

/*
 * Send the current job together with the speculative ones. Return 0 if the runner has answered, 1
 * if a user must import the results, or an error.
 */
static int send_away(struct kl_sequencer *sequencer, struct kl_outcome *out, const char *before)
{
	KL_AUTO(json_decrefp) json_t *candidates = json_array();
	KL_AUTO(kl_transfer_release) struct kl_transfer sent = { 0 };
	int err;

	if ((err = check_sent(sequencer)) < 0 || (err = kl_speculate(candidates, sequencer)) < 0 ||
	    (err = sequencer->send(&sent, sequencer->payload)) < 0)
		return err;
	if (!sent.waiting) {
		free(sequencer->why_not);
		sequencer->why_not = kl_steal(&sent.why);
		return 0;
	}
	kl_walk_await(&sequencer->op.walk, awaited_json(&sent, candidates));
	if ((err = kl_sequencer_save(sequencer, "waiting for results")) < 0)
		return err;
	kl_outcome_fill(out, sequencer);
	out->waiting = true;
	out->still = !strcmp(before, sent.digest);
	out->awaiting = json_incref(kl_walk_awaited(&sequencer->op.walk));
	return 1;
}

/*
 * Count a timeout of the model as a rejection; the model is then asked again. After
 * KL_DIALOGUE_UNUSABLE timeouts in a row, fail, so that the user can act.
 */
static int count_timeout(struct kl_sequencer *sequencer)
{
	KL_AUTO(kl_freep) char *message = kl_strdup(kl_error_last());
	KL_AUTO(kl_freep) char *hints = kl_strdup(kl_error_hints());
	int err;

	kl_walk_timed_out(&sequencer->op.walk);
	if ((err = kl_sequencer_save(sequencer, "time-out")) < 0)
		return err;
	if (++sequencer->timeouts < KL_DIALOGUE_UNUSABLE) {
		kl_progress_print(sequencer->progress, "  %s; this counts as a rejected proposal",
				  message);
		kl_error_clear();
		return 0;
	}
	err = kl_error(KL_ETIMEOUT, "%s; %d times in a row", message, sequencer->timeouts);
	return *hints ? kl_error_hint(err, "%s", hints) : err;
}

static int run_phases(struct kl_sequencer *sequencer, struct kl_outcome *out)
{
	char before[KL_DIGEST_HEX] = "";

	for (;;) {
		int err = 0;

		if (kl_proc_interrupted())
			return kl_error(KL_EINTR, "interrupted");
		switch (kl_walk_next(&sequencer->op.walk)) {
		case KL_WALK_EXPERT:
			err = kl_judge_expert(sequencer);
			break;
		case KL_WALK_ASK:
			err = kl_sequencer_ask(sequencer);
			break;
		case KL_WALK_JUDGE:
			err = kl_judge_pending(sequencer);
			break;
		case KL_WALK_WAIT:
			kl_outcome_fill(out, sequencer);
			out->waiting = true;
			out->edit_dir = kl_strdup(sequencer->edit_dir);
			return 0;
		case KL_WALK_DERIVE:
			err = kl_derive_ask(sequencer);
			break;
		case KL_WALK_JUDGE_DERIVED:
			err = kl_derive_judge(sequencer);
			break;
		case KL_WALK_FINISH:
			return finish_walk(sequencer, out);
		case KL_WALK_AWAIT:
			snprintf(before, sizeof(before), "%s",
				 kl_json_str_or(kl_walk_awaited(&sequencer->op.walk), "bundle",
						""));
			kl_walk_go_on(&sequencer->op.walk);
			break;
		}
		if (err == KL_JUDGE_LATER)
			err = send_away(sequencer, out, before);
		if (err == KL_ETIMEOUT && sequencer->session)
			err = count_timeout(sequencer);
		else
			sequencer->timeouts = 0;
		if (err)
			return err < 0 ? err : 0;
	}
}

int kl_sequencer_run(struct kl_sequencer *sequencer, struct kl_outcome *out)
{
	git_oid at;
	int err;

	*out = (struct kl_outcome){ 0 };
	sequencer->had_steps = json_array_size(kl_walk_steps(&sequencer->op.walk));
	sequencer->had_rejections = json_array_size(kl_walk_rejections(&sequencer->op.walk));
	err = run_phases(sequencer, out);
	if (err < 0 && err != KL_ENO && !kl_refs_get(&at, sequencer->repo, sequencer->op.ref))
		kl_error_hint(err, "nothing is lost: 'git klineage deopt --continue' resumes the "
				   "operation, '--abort' discards it");
	return err;
}

int kl_sequencer_skip(struct kl_sequencer *sequencer)
{
	kl_walk_go_on(&sequencer->op.walk);
	switch (kl_walk_next(&sequencer->op.walk)) {
	case KL_WALK_JUDGE:
		return kl_judge_skip(sequencer);
	case KL_WALK_DERIVE:
	case KL_WALK_JUDGE_DERIVED:
		return kl_derive_skip(sequencer);
	case KL_WALK_WAIT:
		kl_json_set_str(sequencer->op.walk.state, "phase", "ask");
		return kl_sequencer_save(sequencer, "edit dropped");
	default:
		return kl_error(KL_EUSAGE, "there is no pending proposal to skip; use --continue");
	}
}

int kl_sequencer_stop(struct kl_sequencer *sequencer)
{
	kl_walk_go_on(&sequencer->op.walk);
	if (kl_walk_next(&sequencer->op.walk) == KL_WALK_FINISH)
		return 0;
	if (kl_walk_next(&sequencer->op.walk) == KL_WALK_EXPERT)
		return kl_error(KL_EUSAGE,
				"the expert has not been judged yet, so there is nothing to keep; "
				"use --abort");
	return kl_sequencer_end(sequencer, "stopped");
}

int kl_sequencer_abort(struct kl_sequencer *sequencer)
{
	KL_AUTO(kl_refs_txn_freep) struct kl_refs_txn *txn = kl_refs_txn_new(sequencer->repo);
	git_oid at;
	int err;

	if (!sequencer->edit_dir && (err = kl_sequencer_enter(sequencer)) < 0)
		return err;
	kl_opstate_ref(sequencer->op.ref, sequencer->repo);
	err = kl_refs_get(&at, sequencer->repo, sequencer->op.ref);
	if (err == KL_ENOTFOUND)
		return kl_error(KL_ENOTFOUND, "no operation in progress in this worktree");
	if (err < 0 || (err = KL_FAULT("abort")) < 0)
		return err;
	kl_refs_txn_delete(txn, sequencer->op.ref, &at);
	if ((err = kl_refs_txn_commit(txn, "klineage deopt: abort")) < 0)
		return err;
	return kl_fs_remove(sequencer->edit_dir);
}
