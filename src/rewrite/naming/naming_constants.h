/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REWRITE_NAMING_CONSTANTS_H
#define KL_REWRITE_NAMING_CONSTANTS_H

#include "rewrite/naming/naming.h"

/* naming_constants - names a step that changes nothing but constants. Inside src/rewrite only. */
#define KL_NAMING_CONSTANT 64 /* confidence of such a name by the source alone, in per cent */

/**
 * Return true if the sources differ in numbers only. *name becomes the mechanism of the loop that a
 * changed constant steps or bounds, a constant string; NULL: it bounds none, or several that differ.
 * `evidence` says what changed.
 */
bool kl_naming_constants(const char **name, struct kl_buf *evidence,
			 const struct kl_naming_sides *sides);

#endif
