/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_PLAN_EXPR_H
#define KL_PLAN_EXPR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"

/*
 * expr - integer expressions and conditions over names (docs/formats.md, "Expressions"). They stand
 * in a contract's shapes and domain, and in a launch plan. Signs, from the loosest:
 *
 *	||    &&    == != < <= > >=    + -    * / %    before a value: - !
 *
 * A value is a number, a name, (...), min(a, b), max(a, b) or cdiv(a, b). Comparisons do not
 * chain. An expression is typed when it is parsed: a shape is a number, a domain item a truth
 * value, and neither passes for the other.
 *
 * The text is hostile: it is at most KL_EXPR_MAX_TEXT bytes long, nests at most KL_EXPR_MAX_DEPTH
 * deep, and evaluation reports overflow and division by zero instead of wrapping.
 *
 *	kl_expr_parse(&e, "cdiv(N, 2) * C", &names, KL_EXPR_NUMBER, NULL);
 *	kl_expr_eval(&v, e, dims);		dims[i] belongs to names[i]
 *
 * The conditions of cards are the same language with other names: card/predicate.h, expr_tree.h.
 */
#define KL_EXPR_MAX_TEXT 512
#define KL_EXPR_MAX_DEPTH 32

/* What an expression is before a value is known; ANY: what a fact turns out to be. */
enum kl_expr_type { KL_EXPR_NUMBER, KL_EXPR_TRUTH, KL_EXPR_TEXT, KL_EXPR_ANY };

struct kl_expr_names {
	const char *const *name;
	size_t n;
	const char *what; /* for "'x' is not ...": NULL for "a dim of the case" */
};

struct kl_expr;

/**
 * Parse; the names are looked up now and need not outlive the call. On
 * KL_EINVALID `*at` (may be NULL) is the byte where the text goes wrong.
 */
int kl_expr_parse(struct kl_expr **out, const char *text, const struct kl_expr_names *names,
		  enum kl_expr_type want, size_t *at);

/** Value at a point (truth: 0 or 1). KL_EINVALID: overflow, division by zero. */
int kl_expr_eval(int64_t *out, const struct kl_expr *expr, const int64_t *value);

/** Set used[i] for every name that stands in it. */
void kl_expr_uses(const struct kl_expr *expr, bool *used);

void kl_expr_free(struct kl_expr *expr);
KL_DEFINE_CLEANUP(struct kl_expr *, kl_expr_free)

#endif
