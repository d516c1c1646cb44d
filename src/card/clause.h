/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CARD_CLAUSE_H
#define KL_CARD_CLAUSE_H

#include <stdbool.h>

#include "base/vec.h"

/*
 * clause - the conjuncts of a condition's predicate, so that each can be asked for by itself:
 *
 *	op != 'gemm' || (M % 256 == 0) && (K % 64 == 0)
 *
 * has the guard "op != 'gemm'" and two clauses. A predicate of any other form
 * is a single clause, and so is an alternative in brackets that has alternatives itself.
 *
 *	kl_clauses_split(&c, test);
 *	kl_clauses_one(&c, 1);			"op != 'gemm' || K % 64 == 0"
 *	kl_clauses_join(&c, keep);		those that are to stay, as one predicate again
 */
struct kl_clauses {
	char *guard;        /* "": none */
	struct kl_strvec v; /* texts, in the order of the predicate; at least one */
};

/** KL_EINVALID: `test` is no predicate (predicate.h). */
int kl_clauses_split(struct kl_clauses *out, const char *test);
void kl_clauses_release(struct kl_clauses *clauses);
/** Both make a text that the caller frees; of none, NULL. */
char *kl_clauses_one(const struct kl_clauses *clauses, size_t index);
char *kl_clauses_join(const struct kl_clauses *clauses, const bool *keep);

#endif
