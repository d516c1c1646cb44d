/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REWRITE_LANES_H
#define KL_REWRITE_LANES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/*
 * lanes - writes vector intrinsics of x86 as plain C: a function for each, which computes lane by
 * lane.
 *
 * A vector is a union, `kl_lanes256`, with an array for each type of element. The function of
 * `_mm256_add_ps` is `lanes256_add_ps`: its arguments and its result are those of the intrinsic.
 */

/** Return the type that replaces vector type `word`, or NULL if `word` is not such a type. */
const char *kl_lanes_type(const char *word);
/** Check that `word` begins as the name of an intrinsic that has a vector as operand or result. */
bool kl_lanes_intrinsic(const char *word);
/**
 * Append the C function that does the same as intrinsic `word`, and set *name to its name, which
 * the caller frees. Return false if no such function is known.
 */
bool kl_lanes_function(struct kl_buf *out, char **name, const char *word);
/** Append the definitions of the vector types whose names occur in the text `used`. */
void kl_lanes_types(struct kl_buf *out, const char *used);

#endif
