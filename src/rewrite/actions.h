/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REWRITE_ACTIONS_H
#define KL_REWRITE_ACTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/*
 * actions - the vocabulary of steps: templates/actions.yaml, by stages. The order of the stages is
 * a soft prior: what came last into a kernel goes first. The vocabulary is open; whoever finds no
 * word may bring one.
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
/** As a list for a reader. */
void kl_actions_list(struct kl_buf *out, const struct kl_actions *actions);

#endif
