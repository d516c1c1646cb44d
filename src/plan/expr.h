/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_PLAN_EXPR_H
#define KL_PLAN_EXPR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"

/*
 * expr - parses and evaluates integer expressions and conditions over names (docs/formats.md,
 * "Expressions"). Contracts use them for shapes and the domain, launch plans for most numbers.
 * Operators, from the lowest precedence to the highest:
 *
 *	||    &&    == != < <= > >=    + -    * / %    before a value: - !
 *
 * A value is a number, a name, (...), min(a, b), max(a, b) or cdiv(a, b). Comparisons cannot be
 * chained. The parser checks types: an extent must be a number, a condition of the domain a truth
 * value.
 *
 * The text is untrusted. It can have at most KL_EXPR_MAX_TEXT bytes and KL_EXPR_MAX_DEPTH levels of
 * nesting, and evaluation reports overflow and division by zero.
 *
 *	kl_expr_parse(&e, "cdiv(N, 2) * C", &names, KL_EXPR_NUMBER, NULL);
 *	kl_expr_eval(&v, e, dims);		dims[i] belongs to names[i]
 *
 * The predicates of cards are in the same language, with other names (card/predicate.h,
 * expr_tree.h).
 */
#define KL_EXPR_MAX_TEXT 512
#define KL_EXPR_MAX_DEPTH 32

/* The type of an expression. ANY: a fact whose type is known only when the fact has a value. */
enum kl_expr_type { KL_EXPR_NUMBER, KL_EXPR_TRUTH, KL_EXPR_TEXT, KL_EXPR_ANY };

struct kl_expr_names {
	const char *const *name;
	size_t n;
	/* end of the message "'x' is not ..." for an unknown name; NULL for "a dim of the case" */
	const char *what;
};

struct kl_expr;

/**
 * Parse `text` into *out, which the caller frees; `names` need not outlive the call. Return
 * KL_EINVALID if the text is not an expression of the type `want`; *at (`at` may be NULL) is then
 * the offset of the error.
 */
int kl_expr_parse(struct kl_expr **out, const char *text, const struct kl_expr_names *names,
		  enum kl_expr_type want, size_t *at);

/**
 * Evaluate an expression, where value[i] is the value of names[i]. A truth value is 0 or 1. Return
 * KL_EINVALID on overflow or division by zero.
 */
int kl_expr_eval(int64_t *out, const struct kl_expr *expr, const int64_t *value);

/** Set used[i] to true for every name that the expression uses; other entries stay unchanged. */
void kl_expr_uses(const struct kl_expr *expr, bool *used);

void kl_expr_free(struct kl_expr *expr);
KL_DEFINE_CLEANUP(struct kl_expr *, kl_expr_free)

#endif
