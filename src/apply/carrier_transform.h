/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_APPLY_CARRIER_TRANSFORM_H
#define KL_APPLY_CARRIER_TRANSFORM_H

#include "apply/carrier.h"
#include "rewrite/transform.h"

/*
 * carrier_transform - applies a card's transformation with what the contract says of the kernel.
 *
 * The tensors of a contract never overlap. So the pointers of the function that gets them do not,
 * nor do those of a kernel of a launch plan that gets each buffer once.
 *
 *	kl_carrier_transform_init(&transform, carrier, variant, state);
 *	for each source ... kl_carrier_transform_file(&text, &transform, file);
 *	kl_carrier_transform_release(&transform);
 */
struct kl_carrier_transform {
	struct kl_transform_use use;
	size_t variant;
	char *name;                /* "unroll-jam factor=4" */
	struct kl_strvec disjoint; /* functions whose pointers never overlap */
	int64_t threads;           /* of all blocks of a launch plan; 0: not known */
};

/** Return the number of variants of a mechanical carrier: 1 unless it is a transformation. */
size_t kl_carrier_transform_variants(const struct kl_card_carrier *carrier);

/**
 * KL_ENO: the carrier is not a transformation, or the surface's launch plan cannot be read. Release
 * `out` in either case.
 */
int kl_carrier_transform_init(struct kl_carrier_transform *out,
			      const struct kl_card_carrier *carrier, size_t variant,
			      const struct kl_surface *state);
void kl_carrier_transform_release(struct kl_carrier_transform *transform);
/** Write the source after the transformation. KL_ENO: it is for nothing in this source. */
int kl_carrier_transform_file(struct kl_buf *out, const struct kl_carrier_transform *transform,
			      const struct kl_file *file);

#endif
