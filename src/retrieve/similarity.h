/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_RETRIEVE_SIMILARITY_H
#define KL_RETRIEVE_SIMILARITY_H

#include "retrieve/taxonomy.h"

/*
 * similarity - measures how similar a verified point is to a target, axis by axis.
 *
 * docs/formats.md ("Retrieval") defines the measures. Results are integers in millionths, 0 to
 * KL_ONE, so that they sort the same on every machine.
 *
 *	kl_case_init(&a, tax, "conv2d", "f16");
 *	kl_case_dim(&a, tax, "C", 64);
 *	s = kl_similarity_case(tax, &a, &b);
 *
 * The functions are pure: they read no files and keep no state.
 */
#define KL_ONE 1000000

/** An operator at its extents, ready to compare. Plain data: equal cases have equal bytes. */
struct kl_case {
	uint64_t name;             /* digest of its name in the tree, or as given */
	uint64_t dtype;            /* digest of the dtype's name */
	double log2[KL_TAX_ROLES]; /* by role: log2 of the product of its dims' extents */
	int32_t op;                /* index, -1: not in the tree */
	uint32_t width;            /* bytes of an element, 0: unknown dtype */
};

void kl_case_init(struct kl_case *point, const struct kl_taxonomy *taxonomy, const char *op,
		  const char *dtype);
/**
 * Add a dim with its extent, at least 1. A dim without a role is ignored; all dims of an operator
 * that is not in the tree count as rows.
 */
void kl_case_dim(struct kl_case *point, const struct kl_taxonomy *taxonomy, const char *name,
		 int64_t extent);

/** Wu-Palmer: 2 depth(common ancestor) / (depth(a) + depth(b)); 1 for the same operator. */
int64_t kl_similarity_operator(const struct kl_taxonomy *taxonomy, const struct kl_case *a,
			       const struct kl_case *b);
/**
 * exp(-mean |difference of log2 extents| / 2) over the roles that either case has; a missing role
 * has extent 1.
 */
int64_t kl_similarity_extents(const struct kl_case *a, const struct kl_case *b);
/** 1 for the same dtype, 1/2 for one of the same width, else 0. */
int64_t kl_similarity_dtype(const struct kl_case *a, const struct kl_case *b);
/** 0.5 operator + 0.3 extents + 0.2 dtype. */
int64_t kl_similarity_case(const struct kl_taxonomy *taxonomy, const struct kl_case *a,
			   const struct kl_case *b);

/** 1 for the same language, else as in templates/languages.yaml, else 0. */
int64_t kl_similarity_language(const struct kl_taxonomy *taxonomy, const char *a, const char *b);

/**
 * The Jaccard index of two platforms' capabilities: 1 for the same platform, 0 if one of two
 * different platforms is not listed.
 */
int64_t kl_similarity_platform(const struct kl_taxonomy *taxonomy, const char *a, const char *b);

/** The fourth root of the product of the four axes (0 to 1), times (passed + 1) / (trials + 2). */
int64_t kl_similarity_score(double product, size_t passed, size_t trials);

#endif
