/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BASE_PREFIX_H
#define KL_BASE_PREFIX_H

#include <stdbool.h>

/* prefix - tests how a string begins. */

/** Return true if `text` begins with `prefix`. */
bool kl_prefix_has(const char *text, const char *prefix);
/**
 * Return true if `text` is in the dotted family of `name`: it is `name`, or begins with `name` and a
 * dot, as "ld.global.f32" does for "ld".
 */
bool kl_prefix_is_dotted(const char *text, const char *name);

#endif
