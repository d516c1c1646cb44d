/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BASE_NEAREST_H
#define KL_BASE_NEAREST_H

#include "base/vec.h"

/*
 * nearest - finds the names that a misspelt name may mean, for "did you mean". A name is near if at
 * most three letters must be inserted, deleted or replaced, or if one name is part of the other.
 */

/** Append the (at most three) names that are nearest to `name`, the nearest first. */
void kl_nearest(struct kl_strvec *out, const char *name, const char *const *names, size_t n);
/**
 * Append at most one name, so near that the user can mean hardly anything else: at most one letter
 * in three is wrong.
 */
void kl_nearest_sure(struct kl_strvec *out, const char *name, const char *const *names, size_t n);

#endif
