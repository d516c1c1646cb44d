/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CARD_CLAUSE_H
#define KL_CARD_CLAUSE_H

#include <stdbool.h>

#include "base/vec.h"

/*
 * clause - splits a predicate into its conjuncts, to test each by itself:
 *
 *	op != 'gemm' || (M % 256 == 0) && (K % 64 == 0)
 *
 * has the guard "op != 'gemm'" and two clauses. A predicate of any other form is a single clause.
 * An alternative in brackets is not split into further alternatives.
 *
 *	kl_clauses_split(&c, test);
 *	kl_clauses_one(&c, 1);			"op != 'gemm' || K % 64 == 0"
 *	kl_clauses_join(&c, keep);		the kept clauses as one predicate
 */
struct kl_clauses {
	char *guard;        /* "" if there is none */
	struct kl_strvec v; /* texts, in the order of the predicate; at least one */
};

/** KL_EINVALID: `test` is not a predicate (predicate.h). */
int kl_clauses_split(struct kl_clauses *out, const char *test);
void kl_clauses_release(struct kl_clauses *clauses);
/** Clause `index`, or those with `keep` set, as a predicate. Caller frees; NULL if none is kept. */
char *kl_clauses_one(const struct kl_clauses *clauses, size_t index);
char *kl_clauses_join(const struct kl_clauses *clauses, const bool *keep);

#endif
