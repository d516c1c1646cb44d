/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_SEARCH_TABLE_VARIANT_H
#define KL_SEARCH_TABLE_VARIANT_H

#include "contract/surface.h"

/*
 * variant - changes a kernel in the ways that a table has besides the steps of lineages.
 *
 * All functions set *out to NULL if the kernel cannot be changed so; the caller frees *out.
 */

/** Change the definition of a constant: "#define MC 96", or "MC = 96" in an enum. */
int kl_variant_tune(struct kl_surface **out, const struct kl_surface *surface, const char *name,
		    int64_t from, int64_t to);
/** Append a line to the first source that its language compiles: a comment, or a syntax error. */
int kl_variant_stale(struct kl_surface **out, const struct kl_surface *surface);
int kl_variant_broken(struct kl_surface **out, const struct kl_surface *surface);
/**
 * Make the change from `before` to `after` in another kernel: it is made if each block of lines that
 * it replaces occurs there exactly once.
 */
int kl_variant_moved(struct kl_surface **out, const struct kl_surface *surface,
		     const struct kl_surface *before, const struct kl_surface *after);

#endif
