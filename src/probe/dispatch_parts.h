/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_PROBE_DISPATCH_PARTS_H
#define KL_PROBE_DISPATCH_PARTS_H

#include "base/buf.h"
#include "plan/expr.h"
#include "probe/dispatch.h"

/* dispatch_parts - names that the files of a dispatch share. Inside src/probe only. */

/*
 * Parameters are named dim_<name>, because a dim can have the name of a keyword, or of a macro of
 * the program that includes the header.
 */
#define KL_DISPATCH_PARAMETER "dim_"
#define KL_DISPATCH_ADDRESS "at_" /* the address of a tensor, which a condition is about */

/**
 * Write an expression over dims, with brackets around each operator, so that compilers warn about
 * none.
 */
void kl_dispatch_write_expr(struct kl_buf *out, const struct kl_expr *expr,
			    const struct kl_contract *contract);
/** Write a clause as a condition over the parameters. */
void kl_dispatch_write_clause(struct kl_buf *out, const struct kl_sound *sound, size_t i);

#endif
