/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CMD_HOOK_RUN_H
#define KL_CMD_HOOK_RUN_H

#include <stdbool.h>

#include "cmd/cli/term.h"
#include "repo/repo.h"

/*
 * hook_run - runs the git hooks of git-klineage: one function per git event, one line of output per
 * kernel. Hooks run in an arbitrary environment, with git's index named by GIT_INDEX_FILE, and must
 * be quick if there is nothing to do.
 */

/** The results for which the hooks refuse a commit or a push (config klineage.hooks.block). */
enum kl_hook_block {
	KL_HOOK_BLOCK_FAIL,     /* "fail", the default: a failed verdict */
	KL_HOOK_BLOCK_UNTESTED, /* "untested": also a kernel that cannot be judged here */
	KL_HOOK_BLOCK_NOTHING,  /* "nothing": only print */
};

/** Parse a value of klineage.hooks.block; `word` NULL: the default. KL_EINVALID: unknown word. */
int kl_hook_block_parse(enum kl_hook_block *out, const char *word);

bool kl_hook_known(const char *event);

/**
 * Run a hook. Return 0 if git may go on, 1 if it must stop, or an error, for which the caller
 * decides whether git must stop.
 */
int kl_hook_run(struct kl_repo *repo, const struct kl_term *term, const char *event, int argc,
		char **argv);

#endif
