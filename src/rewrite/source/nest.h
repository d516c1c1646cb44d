/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REWRITE_NEST_H
#define KL_REWRITE_NEST_H

#include "rewrite/source/ctoken.h"

/*
 * nest - the loops of a source, by its tokens: their heads, bodies and counters, and which loop
 * contains which. Nothing is parsed: only `for` and `while` loops are found.
 */
struct kl_nest_loop {
	size_t head, open;  /* tokens of the keyword, and of the parenthesis that follows it */
	size_t first, last; /* tokens of the body */
	/* tokens of the condition: cond ... cond_end - 1 */
	size_t cond, cond_end;
	int up;       /* index of the loop that contains this one directly; -1 if there is none */
	int inside;   /* number of loops that this one contains */
	long counter; /* token of the counter in the increment; -1 if unknown */
	long step;    /* constant by which the counter grows; 0 if unknown */
	long step_at; /* token of this constant; -1 for "++" and "--", or if unknown */
};

struct kl_nest {
	struct kl_nest_loop *v; /* in the order of the text: a loop comes before its inner loops */
	size_t n, alloc;
};

#define KL_NEST_MOST 500
/**
 * Find the loops of a source, at most KL_NEST_MOST, because a source can be hostile. The caller
 * releases `out`.
 */
void kl_nest_find(struct kl_nest *out, const struct kl_ctokens *tokens);
void kl_nest_release(struct kl_nest *nest);
/** Return the index of the innermost loop whose body has token `i`; -1 if there is none. */
int kl_nest_at(const struct kl_nest *nest, size_t i);
/** Return the last token of the statement that begins at token `i`. */
size_t kl_nest_statement_end(const struct kl_ctokens *tokens, size_t i);
/** Return the next ';' from token `i` to `end` - 1 that is not within brackets, or `end`. */
size_t kl_nest_semicolon(const struct kl_ctokens *tokens, size_t i, size_t end);

#endif
