/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_RETRIEVE_SIMILARITY_H
#define KL_RETRIEVE_SIMILARITY_H

#include "retrieve/taxonomy.h"

/*
 * similarity - how near one verified point is to a target, axis by axis (docs/formats.md,
 * "Retrieval"). Every answer is a whole number of millionths, 0 to KL_ONE, so that it sorts the
 * same everywhere.
 *
 *	kl_case_init(&a, tax, "conv2d", "f16");
 *	kl_case_dim(&a, tax, "C", 64);
 *	s = kl_similarity_case(tax, &a, &b);
 *
 * Pure: nothing is read or kept.
 */
#define KL_ONE 1000000

/** An operator at its extents, ready to compare; plain data, equal bytes for equal cases. */
struct kl_case {
	uint64_t name;             /* digest of its name in the tree, or as given */
	uint64_t dtype;            /* of the dtype's */
	double log2[KL_TAX_ROLES]; /* of the product of the extents that have the role */
	int32_t op;                /* index, -1: not in the tree */
	uint32_t width;            /* bytes of an element, 0: unknown dtype */
};

void kl_case_init(struct kl_case *other, const struct kl_taxonomy *taxonomy, const char *op,
		  const char *dtype);
/**
 * Add a dim, extent at least 1. One without a role counts for nothing; all dims of an operator
 * that is not in the tree count as rows.
 */
void kl_case_dim(struct kl_case *other, const struct kl_taxonomy *taxonomy, const char *name,
		 int64_t extent);

/** Wu-Palmer: 2 depth(common ancestor) / (depth(a) + depth(b)); 1 for the same operator. */
int64_t kl_similarity_operator(const struct kl_taxonomy *taxonomy, const struct kl_case *left,
			       const struct kl_case *right);
/**
 * exp(-mean |difference of log2 extents| / 2) over the roles that either has; a role not had:
 * extent 1.
 */
int64_t kl_similarity_extents(const struct kl_case *left, const struct kl_case *right);
/** 1 the same, 1/2 the same width, else 0. */
int64_t kl_similarity_dtype(const struct kl_case *left, const struct kl_case *right);
/** 0.5 operator + 0.3 extents + 0.2 dtype. */
int64_t kl_similarity_case(const struct kl_taxonomy *taxonomy, const struct kl_case *left,
			   const struct kl_case *right);

int64_t kl_similarity_language(const struct kl_taxonomy *taxonomy, const char *left,
			       const char *right);

/**
 * Jaccard index of what two platforms can do. One that is not listed is like itself alone.
 */
int64_t kl_similarity_platform(const struct kl_taxonomy *taxonomy, const char *left,
			       const char *right);

/** The fourth root of the product of four axes (as 0 to 1), times (passed + 1) / (trials + 2). */
int64_t kl_similarity_score(double product, size_t passed, size_t trials);

#endif
