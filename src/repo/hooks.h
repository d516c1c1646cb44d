/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REPO_HOOKS_H
#define KL_REPO_HOOKS_H

#include "repo/repo.h"

/*
 * hooks - finds, installs and removes our git hooks beside existing ones. git finds a hook by its
 * name in a single directory, so installing one must not overwrite an existing hook:
 *
 * - git 2.54 and later: config entries (`hook.klineage-<event>.command`), which git runs in
 *   addition to hook files;
 * - another tool runs the hooks (husky, lefthook, the pre-commit framework, or the user's own
 *   core.hooksPath): nothing is written, and the user is shown the line to add;
 * - otherwise hook files. A foreign hook of the same name is refused, or chained: it is renamed to
 *   <event>.klineage-chained and called first. At every moment, even after a crash, one of the two
 *   hooks is in place.
 *
 *	kl_hooks_look(&h, repo, false);
 *	kl_hooks_install(&h, repo, chain);
 */
#define KL_HOOKS_EVENTS 5

enum kl_hooks_way { KL_HOOKS_FILES, KL_HOOKS_CONFIG, KL_HOOKS_BY_HAND };

enum kl_hook_state {
	KL_HOOK_ABSENT,
	KL_HOOK_OURS,
	KL_HOOK_CHAINED, /* ours, which calls a foreign one first */
	KL_HOOK_CALLED,  /* a foreign one that calls us */
	KL_HOOK_EDITED,  /* ours, but modified by the user */
	KL_HOOK_FOREIGN,
};

struct kl_hook {
	const char *event;
	char *path; /* the file that determines the state */
	enum kl_hook_state state;
};

struct kl_hooks {
	enum kl_hooks_way way;
	/** KL_HOOKS_BY_HAND: "husky", "lefthook", "pre-commit" or "core.hooksPath"; static. */
	const char *owner;
	char *dir; /* git's hooks directory */
	/* directory of our files: `dir`, or with config hooks a directory of our own */
	char *ours;
	bool outside; /* `dir` is outside the worktree, so other repositories can use it as well */
	struct kl_hook hook[KL_HOOKS_EVENTS];
};

/**
 * Find out how hooks are installed here and the state of each. `files`: use files in git's own
 * hooks directory even if lefthook or the pre-commit framework, which write there, are configured.
 * KL_EINVALID: the repository has no worktree, so nothing is committed in it.
 */
int kl_hooks_look(struct kl_hooks *out, struct kl_repo *repo, bool files);
void kl_hooks_release(struct kl_hooks *hooks);

/**
 * Install all hooks. KL_EEXISTS: a file is in the way (the message names it), and nothing was
 * written. Installing again is not an error and updates older files of ours. Must not be called if
 * `hooks->way` is KL_HOOKS_BY_HAND. `hooks` comes from kl_hooks_look() and is updated.
 */
int kl_hooks_install(struct kl_hooks *hooks, struct kl_repo *repo, bool chain);
/**
 * Remove everything that kl_hooks_install() created, and restore the hooks that it renamed.
 * KL_EEXISTS: one of our files was edited, and nothing was changed.
 */
int kl_hooks_uninstall(struct kl_hooks *hooks, struct kl_repo *repo);

#endif
