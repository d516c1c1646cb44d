/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CMD_STEP_PRINT_H
#define KL_CMD_STEP_PRINT_H

#include "cmd/cli/listing.h"
#include "cmd/cli/term.h"
#include "learn/worktree_step.h"

/* step_print - prints what became of a step that was made in the worktree. */

/** Print the verdict, what was committed and what was left, the trial, and what to do next. */
void kl_step_say(const struct kl_worktree_step *step, const struct kl_term *term);
/** Print the same for programs (schema klineage.step/1). */
void kl_step_print_listing(const struct kl_listing *out, const struct kl_worktree_step *step);

#endif
