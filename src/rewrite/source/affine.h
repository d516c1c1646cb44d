/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REWRITE_AFFINE_H
#define KL_REWRITE_AFFINE_H

#include <stdint.h>

#include "rewrite/source/ctoken.h"

/*
 * affine - reads an index expression of C as a sum of terms, so that indices can be compared.
 *
 * A term is an integer times a product of names: the index `i * lda + j - 1` has the terms 1 *
 * "i*lda", 1 * "j" and -1 * "". Equal expressions have equal terms whatever their order. An
 * expression that is not such a sum, or that has too many terms, is not read.
 */
#define KL_AFFINE_TERMS 8
#define KL_AFFINE_PRODUCT 96

struct kl_affine_term {
	int64_t factor;                  /* never 0 */
	char product[KL_AFFINE_PRODUCT]; /* names in order, joined by '*'; "" for a constant */
};

struct kl_affine {
	struct kl_affine_term term[KL_AFFINE_TERMS]; /* sorted by product */
	size_t n;
};

/** Read tokens first ... last (inclusive) as a sum of terms; false if they are not such a sum. */
bool kl_affine_read(struct kl_affine *out, const struct kl_ctokens *tokens, size_t first,
		    size_t last);
/** Add `factor` times `other` to `sum`; false if the result has too many terms. */
bool kl_affine_add(struct kl_affine *sum, const struct kl_affine *other, int64_t factor);
bool kl_affine_equal(const struct kl_affine *left, const struct kl_affine *right);
/** Check that the sum is the constant `value`. */
bool kl_affine_is(const struct kl_affine *sum, int64_t value);
/** Check that a name occurs in the sum. */
bool kl_affine_has(const struct kl_affine *sum, const char *name);
/**
 * Compute the increase of the sum if `name` increases by 1. Return false if the sum is not linear
 * in `name`.
 */
bool kl_affine_stride(struct kl_affine *out, const struct kl_affine *sum, const char *name);
/** Replace `name` by `value`; false if the result has too many terms. */
bool kl_affine_replace(struct kl_affine *sum, const char *name, const struct kl_affine *value);
/** Get the k-th name of the sum, counted over all terms; false if it has fewer names. */
bool kl_affine_name(char out[KL_AFFINE_PRODUCT], const struct kl_affine *sum, size_t k);

#endif
