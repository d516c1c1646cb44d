/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CMD_HOOK_RUN_H
#define KL_CMD_HOOK_RUN_H

#include <stdbool.h>

#include "cmd/term.h"
#include "repo/repo.h"

/*
 * hook_run - runs when git calls one of our hooks: one function an event, a line a kernel. They
 * run where a hook runs: in anybody's environment, with git's own index named by GIT_INDEX_FILE,
 * and they must be quick where there is nothing to do.
 */

/** What stops a commit or a push (config klineage.hooks.block). */
enum kl_hook_block {
	KL_HOOK_BLOCK_FAIL,     /* "fail", the default: a failed verdict */
	KL_HOOK_BLOCK_UNTESTED, /* "untested": also what cannot be judged here */
	KL_HOOK_BLOCK_NOTHING,  /* "nothing": advice alone */
};

/** `word` NULL: the default. KL_EINVALID for an unknown one. */
int kl_hook_block_parse(enum kl_hook_block *out, const char *word);

bool kl_hook_known(const char *event);

/** Exit code 0, or 1: git is to stop; negative: an error, which the caller turns into either. */
int kl_hook_run(struct kl_repo *repo, const struct kl_term *term, const char *event, int argc,
		char **argv);

#endif
