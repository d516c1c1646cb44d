/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_RETRIEVE_SIMILARITY_H
#define KL_RETRIEVE_SIMILARITY_H

#include "retrieve/taxonomy.h"

/*
 * similarity - measures how similar a verified point is to a target, axis by axis.
 *
 * docs/formats.md ("Retrieval") defines the measures. Results are integers in millionths, 0 to
 * KL_ONE, so that cards have the same order on every machine.
 *
 *	kl_case_init(&a, tax, "conv2d", "f16");
 *	kl_case_dim(&a, tax, "C", 64);
 *	s = kl_similarity_case(tax, &a, &b);
 *
 * The functions read no files and keep no state.
 */
#define KL_ONE 1000000

/** An operator with dtype and extents, ready to compare. Equal cases have equal bytes. */
struct kl_case {
	/*
	 * digest of the operator's name: its name in the tree or, if the tree lacks the operator,
	 * the name as given
	 */
	uint64_t name;
	uint64_t dtype; /* digest of the dtype's name */
	/* by role: log2 of the product of the extents of the dims with this role */
	double log2[KL_TAX_ROLES];
	int32_t op;     /* index in the tree of operators; -1 if not in the tree */
	uint32_t width; /* bytes per element; 0 if the dtype is unknown */
};

void kl_case_init(struct kl_case *point, const struct kl_taxonomy *taxonomy, const char *op,
		  const char *dtype);
/**
 * Add a dim with its extent, which is at least 1. A dim without a role is ignored. If the operator
 * is not in the tree, all of its dims count as rows.
 */
void kl_case_dim(struct kl_case *point, const struct kl_taxonomy *taxonomy, const char *name,
		 int64_t extent);

/**
 * Return the Wu-Palmer similarity of the operators: 2 depth(common ancestor) / (depth(a) +
 * depth(b)); 1 for the same operator.
 */
int64_t kl_similarity_operator(const struct kl_taxonomy *taxonomy, const struct kl_case *a,
			       const struct kl_case *b);
/**
 * Check that two operators are the same, or have an ancestor in common other than the root of the
 * tree.
 */
bool kl_similarity_is_related(const struct kl_taxonomy *taxonomy, const struct kl_case *a,
			      const struct kl_case *b);
/**
 * Compare extents: exp(-mean |difference of log2 extents| / 2) over the roles that at least one of
 * the cases has. A role that one case lacks counts there with extent 1.
 */
int64_t kl_similarity_extents(const struct kl_case *a, const struct kl_case *b);
/** Compare dtypes: 1 if equal, 1/2 if only the width is equal, otherwise 0. */
int64_t kl_similarity_dtype(const struct kl_case *a, const struct kl_case *b);
/** Return 0.5 x operator + 0.3 x extents + 0.2 x dtype, the similarities of these three. */
int64_t kl_similarity_case(const struct kl_taxonomy *taxonomy, const struct kl_case *a,
			   const struct kl_case *b);

/**
 * Compare languages: 1 if equal; otherwise the value in templates/languages.yaml; 0 if that file
 * has none.
 */
int64_t kl_similarity_language(const struct kl_taxonomy *taxonomy, const char *a, const char *b);

/**
 * Compare platforms by the Jaccard index of their capabilities: 1 if the platforms are equal; 0 if
 * they differ and one of them is not in the tables.
 */
int64_t kl_similarity_platform(const struct kl_taxonomy *taxonomy, const char *a, const char *b);

/**
 * Return the score in millionths: the fourth root of `product`, times (passed + 1) / (trials + 2).
 * `product` is the product of the four axes, each from 0 to 1.
 */
int64_t kl_similarity_score(double product, size_t passed, size_t trials);

#endif
