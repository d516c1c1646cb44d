/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REPO_HOOKS_H
#define KL_REPO_HOOKS_H

#include "repo/repo.h"

/*
 * hooks - finds, installs and removes our git hooks beside existing hooks. git finds a hook by its
 * name in a single directory, so an install must not overwrite an existing hook. There are three
 * ways to install:
 *
 * - With git 2.54 and later, config entries (`hook.klineage-<event>.command`), which git runs in
 *   addition to hook files.
 * - If another tool runs the hooks (husky, lefthook or the pre-commit framework), or the user has
 *   set core.hooksPath, nothing is written, and the user is shown the line to add.
 * - Otherwise, hook files. If a foreign hook of the same name exists, installing fails or, on
 *   request, chains it: the foreign hook is renamed to <event>.klineage-chained and our hook calls
 *   it first. At every moment, even after a crash, one of the two hooks is in place.
 *
 *	kl_hooks_look(&h, repo, false);
 *	kl_hooks_install(&h, repo, chain);
 */
#define KL_HOOKS_EVENTS 5

enum kl_hooks_way { KL_HOOKS_FILES, KL_HOOKS_CONFIG, KL_HOOKS_BY_HAND };

enum kl_hook_state {
	KL_HOOK_ABSENT,
	KL_HOOK_OURS,
	KL_HOOK_CHAINED, /* our hook, which calls a foreign hook first */
	KL_HOOK_CALLED,  /* a foreign hook, which calls git-klineage */
	KL_HOOK_EDITED,  /* our hook, modified by the user */
	KL_HOOK_FOREIGN,
};

struct kl_hook {
	const char *event;
	char *path; /* the file that `state` was read from */
	enum kl_hook_state state;
};

struct kl_hooks {
	enum kl_hooks_way way;
	/** With KL_HOOKS_BY_HAND: "husky", "lefthook", "pre-commit" or "core.hooksPath"; static. */
	const char *owner;
	char *dir; /* the directory where git looks for hooks */
	/*
	 * directory of our hook files: `dir`, or a directory of our own if `way` is KL_HOOKS_CONFIG
	 */
	char *ours;
	/* `dir` is outside the worktree, so other repositories can use it, too */
	bool outside;
	struct kl_hook hook[KL_HOOKS_EVENTS];
};

/**
 * Find out how hooks are installed here, and read the state of each hook. If `files` is true, use
 * hook files in git's own hooks directory, even if lefthook or the pre-commit framework is
 * configured, which write to the same directory. Return KL_EINVALID if the repository has no
 * worktree, so nothing is committed in it.
 */
int kl_hooks_look(struct kl_hooks *out, struct kl_repo *repo, bool files);
void kl_hooks_release(struct kl_hooks *hooks);

/**
 * Install all hooks. `hooks` comes from kl_hooks_look() and is updated; hooks->way must not be
 * KL_HOOKS_BY_HAND. Installing again is no error and updates older files of ours. Return KL_EEXISTS
 * if an existing file, which the message names, is in the way; nothing is written then.
 */
int kl_hooks_install(struct kl_hooks *hooks, struct kl_repo *repo, bool chain);
/**
 * Remove everything that kl_hooks_install() created, and give chained hooks their old names. Return
 * KL_EEXISTS if one of our files was edited; nothing is changed then.
 */
int kl_hooks_uninstall(struct kl_hooks *hooks, struct kl_repo *repo);

#endif
