/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REWRITE_NAMING_CONSTANTS_H
#define KL_REWRITE_NAMING_CONSTANTS_H

#include "rewrite/naming/naming.h"

/* naming_constants - names a step that changes nothing but constants. Inside src/rewrite only. */
#define KL_NAMING_CONSTANT 64 /* confidence of such a name from the source alone, in per cent */

/**
 * Return true if the sources differ in numbers only. *name becomes the mechanism, a static string,
 * of the loop whose step or bound is a changed constant. It becomes NULL if there is no such loop,
 * or if several loops have different mechanisms. `evidence` describes the change.
 */
bool kl_naming_constants(const char **name, struct kl_buf *evidence,
			 const struct kl_naming_sides *sides);

#endif
