/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REWRITE_ACTIONS_H
#define KL_REWRITE_ACTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/*
 * actions - the vocabulary of steps (templates/actions.yaml), grouped by stages.
 *
 * The order of the stages is a recommendation: optimizations that are usually added last are
 * removed first. The vocabulary is open: a step can use another word.
 */
struct kl_action {
	char *name; /* slug */
	char *text; /* what it removes, one line */
};

struct kl_stage {
	char *name, *text;
	struct kl_action *a;
	size_t n;
};

struct kl_actions {
	struct kl_stage *stage; /* removed first ... last */
	size_t n;
};

int kl_actions_load(struct kl_actions *out, const char *path);
void kl_actions_release(struct kl_actions *actions);
bool kl_actions_has(const struct kl_actions *actions, const char *name);
/** Append the vocabulary as a readable list. */
void kl_actions_list(struct kl_buf *out, const struct kl_actions *actions);

#endif
