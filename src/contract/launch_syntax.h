/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CONTRACT_LAUNCH_SYNTAX_H
#define KL_CONTRACT_LAUNCH_SYNTAX_H

#include "contract/prototype.h"
#include "plan/lexer.h"

/*
 * launch_syntax - reads how host code launches a kernel, k<<<grid, block, smem>>>(...).
 *
 * This and the kernel's name make a first launch plan. Variables are replaced by what they
 * are set to, and those that are passed to the kernel by its own names for them.
 */

/**
 * Read the first launch of the kernel in the source into the members `grid`, `block` and `smem` of
 * *proto. Each is the text of a plan's expressions; NULL: there is no launch, or a plan cannot say
 * this.
 */
void kl_launch_syntax(struct kl_proto *proto, const struct kl_tokens *tokens);
/**
 * Read the template arguments of that launch into proto->argument. Variables and macros that are
 * set to numbers are replaced by these.
 */
void kl_launch_instance(struct kl_proto *proto, const struct kl_tokens *tokens);

#endif
