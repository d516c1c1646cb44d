/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REPO_HOOKS_H
#define KL_REPO_HOOKS_H

#include "repo/repo.h"

/*
 * hooks - finds, installs and removes our git hooks beside those of others. git finds a hook by
 * its name in one directory, so that who comes second must not overwrite who came first:
 *
 * - git 2.54 and later: entries of the configuration (`hook.klineage-<event>.command`), which stand
 *   beside any file;
 * - somebody else's tool runs the hooks (husky, lefthook, the pre-commit framework, a core.hooksPath of
 *   the user's): nothing is written, the line to add is said;
 * - else files of our own. A foreign hook of that name is refused, or chained: it moves to
 *   <event>.klineage-chained and is called first. At no moment, a crash included, is there none.
 *
 *	kl_hooks_look(&h, repo, false);
 *	kl_hooks_install(&h, repo, chain);
 */
#define KL_HOOKS_EVENTS 5

enum kl_hooks_way { KL_HOOKS_FILES, KL_HOOKS_CONFIG, KL_HOOKS_BY_HAND };

enum kl_hook_state {
	KL_HOOK_ABSENT,
	KL_HOOK_OURS,
	KL_HOOK_CHAINED, /* ours, a foreign one behind it */
	KL_HOOK_CALLED,  /* a foreign one that calls us */
	KL_HOOK_EDITED,  /* was ours, somebody has changed it */
	KL_HOOK_FOREIGN,
};

struct kl_hook {
	const char *event;
	char *path; /* the file that decides it */
	enum kl_hook_state state;
};

struct kl_hooks {
	enum kl_hooks_way way;
	/** By hand: whose hooks they are: "husky", "lefthook", "pre-commit", "core.hooksPath". */
	const char *owner;
	char *dir; /* git's hooks directory */
	/* where our files are: `dir`, or one of our own with config hooks */
	char *ours;
	bool outside; /* `dir` belongs to no repository: others use it, too */
	struct kl_hook hook[KL_HOOKS_EVENTS];
};

/**
 * `files`: git's own directory, whatever tools say that they write there (lefthook, the framework).
 * KL_EINVALID in a bare repository, where nothing is committed.
 */
int kl_hooks_look(struct kl_hooks *out, struct kl_repo *repo, bool files);
void kl_hooks_release(struct kl_hooks *hooks);

/**
 * All or nothing: KL_EEXISTS names what is in the way, before anything is written. Once more is no
 * error, and renews older files of ours. Not with KL_HOOKS_BY_HAND. `hooks` is as after
 * kl_hooks_look.
 */
int kl_hooks_install(struct kl_hooks *hooks, struct kl_repo *repo, bool chain);
/**
 * Takes away whatever install made, brings back what it moved. KL_EEXISTS: one of ours was edited,
 * and nothing was touched.
 */
int kl_hooks_uninstall(struct kl_hooks *hooks, struct kl_repo *repo);

#endif
