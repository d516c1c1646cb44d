/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REWRITE_ACTIONS_H
#define KL_REWRITE_ACTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/*
 * actions - the words that name what a step removes (templates/actions.yaml), grouped by stages.
 *
 * The order of the stages is a recommendation: optimizations that are usually added last are
 * removed first. A step can also use a word that is not in the file.
 */
struct kl_action {
	char *name; /* slug */
	char *text; /* what the action removes, one line */
};

struct kl_stage {
	char *name, *text;
	struct kl_action *a;
	size_t n;
};

struct kl_actions {
	struct kl_stage *stage; /* ordered: remove the actions of stage[0] first */
	size_t n;
};

/** Read the file at `path`. Return KL_EINVALID if it is malformed. The message names the line. */
int kl_actions_load(struct kl_actions *out, const char *path);
void kl_actions_release(struct kl_actions *actions);
bool kl_actions_has(const struct kl_actions *actions, const char *name);
/** Append the stages and their actions as a list for a reader. */
void kl_actions_list(struct kl_buf *out, const struct kl_actions *actions);

#endif
