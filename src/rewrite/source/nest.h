/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REWRITE_NEST_H
#define KL_REWRITE_NEST_H

#include "rewrite/source/ctoken.h"

/*
 * nest - the loops of a source, by its tokens: their heads, bodies and counters, and which loop
 * contains which. Nothing is parsed: what is not written as a loop is none.
 */
struct kl_nest_loop {
	size_t head, open;  /* tokens of the keyword, and of the parenthesis that follows it */
	size_t first, last; /* tokens of the body */
	/* tokens of the condition: cond ... cond_end - 1 */
	size_t cond, cond_end;
	int up;       /* index of the loop that contains this one directly; -1: none */
	int inside;   /* number of loops that this one contains */
	long counter; /* token of the counter in the increment; -1: not known */
	long step;    /* how much the counter grows, if it is a number; 0: not known */
	long step_at; /* token of the amount; -1: "++" or "--", or not known */
};

struct kl_nest {
	struct kl_nest_loop *v; /* by their place: a loop comes before those that it contains */
	size_t n, alloc;
};

#define KL_NEST_MOST 500
/**
 * Find the loops of a source, at most KL_NEST_MOST: sources come from anybody. The caller releases
 * `out`.
 */
void kl_nest_find(struct kl_nest *out, const struct kl_ctokens *tokens);
void kl_nest_release(struct kl_nest *nest);
/** Return the index of the innermost loop whose body has token `i`; -1: none. */
int kl_nest_at(const struct kl_nest *nest, size_t i);
/** Return the last token of the statement that begins at token `i`. */
size_t kl_nest_statement_end(const struct kl_ctokens *tokens, size_t i);
/** Return the next ';' from token `i` to `end` - 1 that is not within brackets, or `end`. */
size_t kl_nest_semicolon(const struct kl_ctokens *tokens, size_t i, size_t end);

#endif
