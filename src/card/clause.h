/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CARD_CLAUSE_H
#define KL_CARD_CLAUSE_H

#include <stdbool.h>

#include "base/vec.h"

/*
 * clause - splits a predicate into its conjuncts, so that each can be tested by itself. In
 *
 *	op != 'gemm' || (M % 256 == 0) && (K % 64 == 0)
 *
 * the guard is "op != 'gemm'" and there are two clauses. A predicate in which several alternatives
 * contain conjunctions is a single clause. An alternative in brackets is not split further.
 *
 *	kl_clauses_split(&c, test);
 *	kl_clauses_one(&c, 1);			"op != 'gemm' || K % 64 == 0"
 *	kl_clauses_join(&c, keep);		the kept clauses as one predicate
 */
struct kl_clauses {
	/* text of the alternatives that are not split; "" if there are none */
	char *guard;
	struct kl_strvec v; /* texts of the clauses, in the order of the predicate; at least one */
};

/**
 * Split `test`; the caller releases *out. Return KL_EINVALID if `test` is no predicate
 * (predicate.h).
 */
int kl_clauses_split(struct kl_clauses *out, const char *test);
void kl_clauses_release(struct kl_clauses *clauses);
/**
 * Join the guard with clause `index` (kl_clauses_one), or with every clause whose `keep` is set
 * (kl_clauses_join), into one predicate. The caller frees the predicate; NULL if no clause is kept.
 */
char *kl_clauses_one(const struct kl_clauses *clauses, size_t index);
char *kl_clauses_join(const struct kl_clauses *clauses, const bool *keep);

#endif
