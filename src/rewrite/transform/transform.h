/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REWRITE_TRANSFORM_H
#define KL_REWRITE_TRANSFORM_H

#include <stdint.h>

#include "rewrite/source/ctoken.h"

/*
 * transform - the program's own transformations of loops, which make a kernel faster.
 *
 * A transformation is chosen by name from a fixed table. It is applied to every loop of a source
 * that has the role it is meant for (loop.h), such as an innermost sum. It leaves a loop unchanged
 * if it does not understand the loop, if the loop was already transformed in this way, or if more
 * than the order of a floating-point sum could change. Functions that the kernel cannot reach stay
 * as they are. Some transformations have one parameter; the text then lists the values to try.
 *
 *	kl_transform_parse(&use, "unroll-jam factor=4,2,8", "c");
 *	for (i = 0; i < kl_transform_variants(&use); i++)
 *		kl_transform_apply(&out, &use, i, &source);
 *
 * docs/formats.md ("Cards") describes the text, and lists the transformations.
 */
#define KL_TRANSFORM_VALUES 8

struct kl_transform;

struct kl_transform_use {
	const struct kl_transform *transform;
	int64_t value[KL_TRANSFORM_VALUES]; /* values of the parameter, in the order to try them */
	size_t n;
};

struct kl_transform_source {
	const char *text; /* borrowed */
	size_t len;
	/*
	 * names of the functions whose pointer parameters never overlap, because the contract's
	 * tensors do not; NULL at the end
	 */
	const char *const *disjoint;
	/*
	 * names of the functions that are called or launched; NULL at the end. If the source
	 * defines some of them, what they cannot reach is not edited.
	 */
	const char *const *entries;
	int64_t threads; /* threads of a block, if all launches have the same number; 0 if unknown */
};

/**
 * Parse a transformation for a language. Return KL_EINVALID if the text has another form, or the
 * name, the parameter or a value is not in the table; the message says what is allowed.
 */
int kl_transform_parse(struct kl_transform_use *out, const char *text, const char *language);
/** Return the number of variants: values of the parameter, or 1. */
size_t kl_transform_variants(const struct kl_transform_use *use);
/** Return the text of one variant: "unroll-jam factor=4". The caller frees it. */
char *kl_transform_name(const struct kl_transform_use *use, size_t variant);
/**
 * Write the source after one variant to `out`. Return KL_ENO if nothing in the source has the role
 * that the transformation is for; the message names the role.
 */
int kl_transform_apply(struct kl_buf *out, const struct kl_transform_use *use, size_t variant,
		       const struct kl_transform_source *source);

#endif
