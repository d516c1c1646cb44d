/* SPDX-License-Identifier: Apache-2.0 */
/* sequencer_start - begins an operation, or takes it up again */
#include <string.h>

#include "base/error.h"
#include "base/fs.h"
#include "walk/sequencer_parts.h"
#include "walk/walk_model.h"

static int hint_busy(int err)
{
	kl_error_hint(
		err,
		"'git klineage deopt --continue' goes on with it, '--status' says where it is");
	return kl_error_hint(err, "'git klineage deopt --abort' forgets it, "
				  "'--quit' ends it and keeps what was accepted");
}

int kl_sequencer_enter(struct kl_sequencer *s)
{
	KL_AUTO(kl_freep) char *dir = kl_fs_join(kl_repo_git_dir(s->repo), "klineage");
	KL_AUTO(kl_freep) char *path = kl_fs_join(dir, "op.lock");
	int err, cleared;

	s->edit_dir = kl_fs_join(dir, "edit");
	if ((err = kl_fs_mkdir(dir)) < 0)
		return err;
	err = kl_lock_take(&s->lock, path, 0);
	if (err == KL_EBUSY)
		return kl_error(KL_EBUSY,
				"another git klineage is at work on this worktree's operation");
	return err < 0 ? err : kl_refs_recover(s->repo, &cleared);
}

static int default_name(char **out, const struct kl_sequencer_opts *o, const char *expert)
{
	const char *leaf = strrchr(o->platform, '/');

	*out = o->name ? kl_strdup(o->name) :
			 kl_asprintf("%s-%.7s", leaf ? leaf + 1 : o->platform, expert);
	if (!kl_slug_ok(*out))
		return kl_error(KL_EUSAGE,
				"'%s' cannot be a lineage's name: lower-case letters, digits, "
				"'.', '_' and '-', at most 64",
				*out);
	return 0;
}

static int names_free(struct kl_sequencer *s, const char *workload, const char *name)
{
	static const char *const kind[] = { "walk", "lineage", "rejected" };

	for (int i = 0; i < 3; i++) {
		char ref[256];
		git_oid old;
		int err;

		kl_lineage_ref(ref, kind[i], workload, name);
		/* rejections of a walk that accepted nothing are carried on */
		if (i == 2 && !kl_refs_get(&old, s->repo, ref))
			continue;
		err = kl_refs_can_create(s->repo, ref);
		if (err == KL_EEXISTS) {
			err = kl_error(KL_EEXISTS, "there is a %s of '%s' named '%s' already",
				       kind[i], workload, name);
			return kl_error_hint(err,
					     "choose another name with --name; to go on where it "
					     "ended: --expert klineage/walk/%s/%s --name %s-2",
					     workload, name, name);
		}
		if (err < 0)
			return err;
	}
	kl_error_clear();
	return 0;
}

static int carry_on_rejections(struct kl_sequencer *s)
{
	char ref[256], hex[KL_OID_HEX];
	git_oid tip;
	int err;

	kl_lineage_ref(ref, "rejected", kl_walk_str(&s->op.walk, "workload"),
		       kl_walk_str(&s->op.walk, "name"));
	err = kl_refs_get(&tip, s->repo, ref);
	if (err == KL_ENOTFOUND) {
		kl_error_clear();
		return 0;
	}
	if (err < 0)
		return err;
	kl_oid_hex(hex, &tip);
	kl_json_set_str(s->op.walk.state, "rejected_before", hex);
	return 0;
}

int kl_sequencer_start(struct kl_sequencer *s, const struct kl_sequencer_opts *o)
{
	KL_AUTO(kl_freep) char *name = NULL;
	char hex[KL_OID_HEX];
	git_oid expert, there;
	struct kl_session *session;
	struct kl_walk_init init = {
		.platform = o->platform,
		.dir = o->dir,
		.rewriters = o->rewriters,
		.runner = o->runner,
		.rederive = o->rederive,
		.step_limit = o->step_limit,
		.rejection_limit = o->rejection_limit,
	};
	int err;

	if ((err = kl_sequencer_enter(s)) < 0)
		return err;
	s->op.repo = s->repo;
	kl_opstate_ref(s->op.ref, s->repo);
	if (!kl_refs_get(&there, s->repo, s->op.ref))
		return hint_busy(
			kl_error(KL_EBUSY, "an operation is already in progress in this worktree"));
	kl_error_clear();
	if ((err = kl_rewriters_check(o->rewriters)) < 0 ||
	    (err = kl_repo_resolve(&expert, s->repo, o->expert ? o->expert : "HEAD")) < 0 ||
	    (err = kl_repo_tree_of(&s->op.tree, s->repo, &expert)) < 0 ||
	    (err = kl_surface_from_tree(&s->op.state, s->repo, &s->op.tree, o->dir)) < 0)
		return err;
	kl_oid_hex(hex, &expert);
	init.expert = hex;
	init.workload = s->op.state->contract->workload;
	init.surface = s->op.state->digest;
	if ((err = default_name(&name, o, hex)) < 0 ||
	    (err = names_free(s, init.workload, name)) < 0)
		return err;
	init.name = name;
	kl_walk_init(&s->op.walk, &init);
	if ((err = carry_on_rejections(s)) < 0 ||
	    (kl_model_name(s) && ((err = kl_model_session(&session, s)) < 0 ||
				  (err = kl_chat_begun(s->repo, name, s->op.state)) < 0)))
		return err;
	err = kl_opstate_save(&s->op, "klineage deopt: start");
	return err == KL_EBUSY ? hint_busy(err) : err;
}

int kl_sequencer_resume(struct kl_sequencer *s)
{
	int err = kl_sequencer_enter(s);

	return err < 0 ? err : kl_opstate_load(&s->op, s->repo);
}
