/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CONTRACT_LAUNCH_SYNTAX_H
#define KL_CONTRACT_LAUNCH_SYNTAX_H

#include "contract/prototype.h"
#include "plan/lexer.h"

/*
 * launch_syntax - reads how host code launches a kernel, k<<<grid, block, smem>>>(...).
 *
 * The launch and the kernel's name give a first launch plan. A variable that is passed to the
 * kernel is replaced by the name of the kernel's parameter, and any other variable by the value
 * that it is set to.
 */

/**
 * Read the first launch of the kernel in the source into the members `grid`, `block` and `smem` of
 * *proto. Each member is text for expressions of a plan. A member is NULL if there is no launch, or
 * a plan cannot express the value.
 */
void kl_launch_syntax(struct kl_proto *proto, const struct kl_tokens *tokens);
/**
 * Read the template arguments of that launch into proto->argument. Variables and macros that stand
 * for numbers are replaced by the numbers.
 */
void kl_launch_instance(struct kl_proto *proto, const struct kl_tokens *tokens);

#endif
