/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REWRITE_TRANSFORM_SURFACE_H
#define KL_REWRITE_TRANSFORM_SURFACE_H

#include "base/vec.h"
#include "contract/surface.h"
#include "rewrite/transform/transform.h"

/*
 * transform_surface - applies a transformation with what the contract says of the kernel.
 *
 * The tensors of a contract never overlap. So the pointers of the function that gets them do not,
 * nor do those of a kernel of a launch plan that gets each buffer once.
 *
 *	kl_transform_surface_init(&transform, "unroll-jam factor=4,2", variant, surface);
 *	for each source ... kl_transform_surface_file(&text, &transform, surface, file);
 *	kl_transform_surface_release(&transform);
 */
struct kl_transform_surface {
	struct kl_transform_use use;
	size_t variant;
	char *name;                /* "unroll-jam factor=4" */
	struct kl_strvec disjoint; /* functions whose pointers never overlap */
	struct kl_strvec entries;  /* functions that are called or launched */
	int64_t threads;           /* threads of each block of a launch plan; 0 if unknown */
};

/**
 * Prepare a transformation. Return KL_EINVALID if the text names no transformation for the
 * surface's language, or the surface's launch plan is invalid. Release `out` in either case.
 */
int kl_transform_surface_init(struct kl_transform_surface *out, const char *text, size_t variant,
			      const struct kl_surface *surface);
void kl_transform_surface_release(struct kl_transform_surface *transform);
/**
 * Write the source after the transformation. Return KL_ENO if nothing in this source has the role
 * that the transformation is for, or the source is not made of C tokens.
 */
int kl_transform_surface_file(struct kl_buf *out, const struct kl_transform_surface *transform,
			      const struct kl_surface *surface, const struct kl_file *file);
/** Check that the sources of a surface have something that a transformation can be applied to. */
bool kl_transform_surface_fits(const char *text, const struct kl_surface *surface);

#endif
