/* SPDX-License-Identifier: Apache-2.0 */
/* sequencer_start - starts or resumes an operation */
#include <string.h>

#include "base/error.h"
#include "base/fs.h"
#include "rewrite/source/token_digest.h"
#include "walk/sequencer_parts.h"
#include "walk/walk_model.h"

static int hint_busy(int err)
{
	kl_error_hint(err,
		      "'git klineage deopt --continue' resumes it, '--status' shows its state");
	return kl_error_hint(err, "'git klineage deopt --abort' discards it, "
				  "'--quit' ends it and keeps the accepted steps");
}

int kl_sequencer_enter(struct kl_sequencer *sequencer)
{
	KL_AUTO(kl_freep) char *dir = kl_fs_join(kl_repo_git_dir(sequencer->repo), "klineage");
	KL_AUTO(kl_freep) char *path = kl_fs_join(dir, "op.lock");
	int err, cleared;

	sequencer->edit_dir = kl_fs_join(dir, "edit");
	if ((err = kl_fs_mkdir(dir)) < 0)
		return err;
	err = kl_lock_take(&sequencer->lock, path, 0);
	if (err == KL_EBUSY)
		return kl_error(
			KL_EBUSY,
			"another git klineage process is working on this worktree's operation");
	return err < 0 ? err : kl_refs_recover(sequencer->repo, &cleared);
}

static int default_name(char **out, const struct kl_sequencer_opts *opts, const char *expert)
{
	const char *leaf = strrchr(opts->platform, '/');

	*out = opts->name ? kl_strdup(opts->name) :
			    kl_asprintf("%s-%.7s", leaf ? leaf + 1 : opts->platform, expert);
	if (!kl_slug_ok(*out))
		return kl_error(KL_EUSAGE,
				"invalid lineage name '%s': use at most 64 lower-case letters, "
				"digits, '.', '_' and '-'",
				*out);
	return 0;
}

static int check_names(struct kl_sequencer *sequencer, const char *workload, const char *name)
{
	static const char *const kind[] = { "walk", "lineage", "rejected" };

	for (int i = 0; i < 3; i++) {
		char ref[256];
		git_oid old;
		int err;

		kl_lineage_ref(ref, kind[i], workload, name);
		/*
		 * "rejected" may exist alone, from an earlier walk that accepted no step: this walk
		 * appends to it
		 */
		if (i == 2 && !kl_refs_get(&old, sequencer->repo, ref))
			continue;
		err = kl_refs_can_create(sequencer->repo, ref);
		if (err == KL_EEXISTS) {
			err = kl_error(KL_EEXISTS, "a %s of '%s' named '%s' already exists",
				       kind[i], workload, name);
			return kl_error_hint(
				err,
				"choose another name with --name; to continue from its "
				"end, use --expert klineage/walk/%s/%s --name %s-2",
				workload, name, name);
		}
		if (err < 0)
			return err;
	}
	kl_error_clear();
	return 0;
}

static int keep_rejections(struct kl_sequencer *sequencer)
{
	char ref[256], hex[KL_OID_HEX];
	git_oid tip;
	int err;

	kl_lineage_ref(ref, "rejected", kl_walk_str(&sequencer->op.walk, "workload"),
		       kl_walk_str(&sequencer->op.walk, "name"));
	err = kl_refs_get(&tip, sequencer->repo, ref);
	if (err == KL_ENOTFOUND) {
		kl_error_clear();
		return 0;
	}
	if (err < 0)
		return err;
	kl_oid_hex(hex, &tip);
	kl_json_set_str(sequencer->op.walk.state, "rejected_before", hex);
	return 0;
}

int kl_sequencer_start(struct kl_sequencer *sequencer, const struct kl_sequencer_opts *opts)
{
	KL_AUTO(kl_freep) char *name = NULL;
	char hex[KL_OID_HEX];
	struct kl_token_digests tokens;
	git_oid expert, there;
	struct kl_session *session;
	struct kl_walk_init init = {
		.platform = opts->platform,
		.dir = opts->dir,
		.rewriters = opts->rewriters,
		.runner = opts->runner,
		.rederive = opts->rederive,
		.step_limit = opts->step_limit,
		.rejection_limit = opts->rejection_limit,
		.keep_all = opts->keep_all,
	};
	int err;

	if ((err = kl_sequencer_enter(sequencer)) < 0)
		return err;
	sequencer->op.repo = sequencer->repo;
	kl_opstate_ref(sequencer->op.ref, sequencer->repo);
	if (!kl_refs_get(&there, sequencer->repo, sequencer->op.ref))
		return hint_busy(
			kl_error(KL_EBUSY, "an operation is already in progress in this worktree"));
	kl_error_clear();
	if ((err = kl_rewriters_check(opts->rewriters)) < 0 ||
	    (err = kl_repo_resolve(&expert, sequencer->repo,
				   opts->expert ? opts->expert : "HEAD")) < 0 ||
	    (err = kl_repo_tree_of(&sequencer->op.tree, sequencer->repo, &expert)) < 0 ||
	    (err = kl_surface_from_tree(&sequencer->op.state, sequencer->repo, &sequencer->op.tree,
					opts->dir)) < 0)
		return err;
	kl_oid_hex(hex, &expert);
	init.expert = hex;
	init.workload = sequencer->op.state->contract->workload;
	init.surface = sequencer->op.state->digest;
	kl_token_digest(&tokens, sequencer->op.state);
	init.tokens = tokens.reached;
	if ((err = default_name(&name, opts, hex)) < 0 ||
	    (err = check_names(sequencer, init.workload, name)) < 0)
		return err;
	init.name = name;
	kl_walk_init(&sequencer->op.walk, &init);
	if ((err = keep_rejections(sequencer)) < 0 ||
	    (kl_model_name(sequencer) &&
	     ((err = kl_model_session(&session, sequencer)) < 0 ||
	      (err = kl_chat_begun(sequencer->repo, name, sequencer->op.state)) < 0)))
		return err;
	err = kl_opstate_save(&sequencer->op, "klineage deopt: start");
	return err == KL_EBUSY ? hint_busy(err) : err;
}

int kl_sequencer_resume(struct kl_sequencer *sequencer)
{
	int err = kl_sequencer_enter(sequencer);

	return err < 0 ? err : kl_opstate_load(&sequencer->op, sequencer->repo);
}
