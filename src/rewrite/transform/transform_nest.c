/* SPDX-License-Identifier: Apache-2.0 */
/* transform_nest - changes the order of loops in a nest: interchange, and blocks for a cache */
#include <string.h>

#include "base/mem.h"
#include "rewrite/transform/transform_parts.h"

/* --- interchange ------------------------------------------------------------------------------ */

/*
 * A pair of loops to interchange. Either the outer body consists of the inner loop only, or it is a
 * sum: "s = init; for (...) s += value; x[i] = s;". For a sum, `init`, `sum` and `store` are set.
 */
struct pair {
	const struct kl_loop *outer, *inner;
	struct kl_cstmts around, within;
	struct kl_accesses accesses;
	const struct kl_cstmt *init, *sum, *store; /* NULL if the nest is perfect */
};

static void pair_release(struct pair *pair)
{
	kl_cstmts_release(&pair->around);
	kl_cstmts_release(&pair->within);
	kl_accesses_release(&pair->accesses);
}

/* Read the statements "s = init; loop; x[i] = s;" of the outer body. */
static bool read_sum(struct pair *out, const struct kl_transforming *work)
{
	const struct kl_cstmt *stmt = out->around.v;
	const struct kl_cvar *var;
	size_t last = work->tokens->fn[work->tokens->t[out->outer->first].fn].last;

	if (out->around.n != 3 || stmt[0].kind == KL_CSTMT_LOOP ||
	    stmt[2].kind != KL_CSTMT_ASSIGN || stmt[2].op != '=' ||
	    stmt[2].name == stmt[2].target_last || stmt[2].value_first != stmt[2].value_last ||
	    out->within.n != 1 || !kl_cstmt_is_sum(work->loops, &out->within.v[0]))
		return false;
	var = kl_cvars_at(&work->loops->vars, out->within.v[0].name);
	if (kl_cvars_at(&work->loops->vars, stmt[0].name) != var ||
	    kl_cvars_at(&work->loops->vars, stmt[2].value_first) != var ||
	    (stmt[0].kind == KL_CSTMT_ASSIGN && stmt[0].op != '='))
		return false;
	out->init = &stmt[0];
	out->sum = &out->within.v[0];
	out->store = &stmt[2];
	/* the variable is not used elsewhere, and the element has the variable's type */
	return kl_transform_count(work->tokens, var->at, last, var->name) ==
		       (stmt[0].kind == KL_CSTMT_DECLARE ? 3u : 4u) &&
	       out->accesses.n && !strcmp(out->accesses.v[out->accesses.n - 1].type, var->type);
}

static bool is_perfect(const struct pair *pair)
{
	if (pair->around.n != 1)
		return false;
	for (size_t i = 0; i < pair->within.n; i++)
		if (pair->within.v[i].kind == KL_CSTMT_ASSIGN &&
		    pair->within.v[i].name == pair->within.v[i].target_last)
			return false;
	return true;
}

/* Check that each written element is written in the same order after the interchange. */
static bool keeps_order(const struct pair *pair)
{
	for (size_t i = 0; i < pair->accesses.n; i++) {
		const struct kl_access *access = &pair->accesses.v[i];
		struct kl_affine outer, inner;

		if (!access->write)
			continue;
		if (!kl_affine_stride(&outer, &access->index, pair->outer->counter) ||
		    !kl_affine_stride(&inner, &access->index, pair->inner->counter) ||
		    (outer.n != 0) == (inner.n != 0))
			return false;
	}
	return true;
}

/*
 * Check that the inner loop reads an array with a stride other than one, and that the outer loop
 * would read it with stride one.
 */
static bool is_gain(const struct pair *pair)
{
	bool gain = false;

	for (size_t i = 0; i < pair->accesses.n; i++) {
		struct kl_affine outer, inner;

		if (!kl_affine_stride(&outer, &pair->accesses.v[i].index, pair->outer->counter) ||
		    !kl_affine_stride(&inner, &pair->accesses.v[i].index, pair->inner->counter))
			return false;
		if (outer.n && !kl_affine_is(&outer, 1))
			return false;
		gain |= inner.n && !kl_affine_is(&inner, 1) && kl_affine_is(&outer, 1);
	}
	return gain;
}

static bool can_interchange(struct pair *out, const struct kl_transforming *work,
			    const struct kl_loop *outer)
{
	*out = (struct pair){ .outer = outer };
	if (outer->innermost || !kl_transform_is_plain(outer) || !outer->owns ||
	    !kl_loop_body(&out->around, work->loops, outer))
		return false;
	for (size_t i = 0; i < out->around.n; i++)
		if (out->around.v[i].kind == KL_CSTMT_LOOP)
			out->inner = out->around.v[i].loop;
	if (!out->inner || !out->inner->innermost || !kl_transform_is_plain(out->inner) ||
	    !out->inner->owns || !kl_loop_body(&out->within, work->loops, out->inner) ||
	    !kl_accesses_read(&out->accesses, work->loops, &out->around) ||
	    kl_transform_count(work->tokens, out->inner->first,
			       (size_t)work->tokens->t[out->inner->first + 1].match,
			       outer->counter))
		return false;
	return (is_perfect(out) || read_sum(out, work)) &&
	       kl_transform_is_independent(work, &out->accesses, NULL) && keeps_order(out) &&
	       is_gain(out);
}

static void write_sum(struct kl_loop_text *text, const struct kl_transforming *work,
		      const struct pair *pair, const char *outer)
{
	const struct kl_ctokens *tokens = work->tokens;
	KL_AUTO(kl_freep) char *target = kl_ctokens_text(tokens, pair->store->name,
							 pair->store->target_last, NULL, 0);
	KL_AUTO(kl_freep) char *init = kl_ctokens_text(tokens, pair->init->value_first,
						       pair->init->value_last, NULL, 0);
	KL_AUTO(kl_freep) char *value = kl_ctokens_text(tokens, pair->sum->value_first,
							pair->sum->value_last, NULL, 0);
	KL_AUTO(kl_freep) char *inner = kl_loop_head(work->loops, pair->inner);

	kl_loop_text_line(text, 0, "for (%s)", outer);
	kl_loop_text_line(text, 1, "%s = %s;", target, init);
	kl_loop_text_line(text, 0, "for (%s) {", inner);
	kl_loop_text_line(text, 1, "for (%s)", outer);
	kl_loop_text_line(text, 2, "%s += %s;", target, value);
	kl_loop_text_line(text, 0, "}");
}

static void write_pair(struct kl_transforming *work, const struct pair *pair)
{
	struct kl_loop_text text;
	KL_AUTO(kl_freep) char *outer = kl_loop_head(work->loops, pair->outer);
	KL_AUTO(kl_freep) char *inner = kl_loop_head(work->loops, pair->inner);

	kl_loop_text_init(&text, work->loops, pair->outer);
	if (pair->sum) {
		write_sum(&text, work, pair, outer);
	} else {
		kl_loop_text_line(&text, 0, "for (%s) {", inner);
		kl_loop_text_line(&text, 1, "for (%s) {", outer);
		kl_loop_text_stmts(&text, 2, &pair->within, NULL, 0);
		kl_loop_text_line(&text, 1, "}");
		kl_loop_text_line(&text, 0, "}");
	}
	kl_loop_text_replace(&work->edits, &text, pair->outer);
	kl_loop_text_release(&text);
}

void kl_transform_interchange(struct kl_transforming *work)
{
	for (size_t i = 0; i < work->loops->n; i++) {
		struct pair pair;

		if (can_interchange(&pair, work, &work->loops->v[i]))
			write_pair(work, &pair);
		pair_release(&pair);
	}
}

/* --- blocks for a cache ----------------------------------------------------------------------- */

/* A nest, and the loop whose counter is to run over blocks. */
struct block {
	const struct kl_loop *root;
	const struct kl_loop *column; /* the first loop with this counter */
	struct kl_accesses accesses;
};

static bool same_head(const struct kl_transforming *work, const struct kl_loop *left,
		      const struct kl_loop *right)
{
	KL_AUTO(kl_freep) char *one = kl_loop_head(work->loops, left);
	KL_AUTO(kl_freep) char *two = kl_loop_head(work->loops, right);

	return !strcmp(one, two);
}

/* Check that a loop's body does all its work in loops with the same head as `column`. */
static bool all_in_columns(const struct kl_transforming *work, const struct kl_loop *loop,
			   const struct kl_loop *column)
{
	struct kl_cstmts stmts;
	bool fine = kl_loop_body(&stmts, work->loops, loop);

	for (size_t i = 0; fine && i < stmts.n; i++)
		if (stmts.v[i].kind == KL_CSTMT_ASSIGN)
			fine = false;
		else if (stmts.v[i].kind == KL_CSTMT_LOOP)
			fine = same_head(work, stmts.v[i].loop, column) ||
			       (!stmts.v[i].loop->innermost &&
				all_in_columns(work, stmts.v[i].loop, column));
	kl_cstmts_release(&stmts);
	return fine;
}

/* Check that the scalars assigned to in the nest are declared in the columns' loops. */
static bool owns_scalars(const struct kl_transforming *work, const struct block *block)
{
	const struct kl_loops *loops = work->loops;

	for (size_t i = block->root->first; i < block->root->last; i++) {
		const struct kl_cvar *var = kl_cvars_at(&loops->vars, i);
		bool own = false;

		if (!var || var->stars || var->array ||
		    !kl_loop_assigns(work->tokens, i, i, var->name))
			continue;
		for (size_t k = 0; k < loops->n; k++)
			own |= (loops->v[k].first < var->at && var->at < loops->v[k].last &&
				loops->v[k].first > block->root->first &&
				same_head(work, &loops->v[k], block->column)) ||
			       !strcmp(loops->v[k].counter, var->name);
		if (!own && i != var->at)
			return false;
	}
	return true;
}

/*
 * Check that each written element belongs to one column, and that an operand is read again in each
 * round of the root: its index depends on the column and on another counter, but not on the root's
 * counter.
 */
static bool is_reused(const struct block *block)
{
	bool reused = false;

	for (size_t i = 0; i < block->accesses.n; i++) {
		const struct kl_access *access = &block->accesses.v[i];
		struct kl_affine stride;

		if (!kl_affine_stride(&stride, &access->index, block->column->counter) ||
		    (access->write && !kl_affine_is(&stride, 1)))
			return false;
		reused |= !access->write && kl_affine_is(&stride, 1) &&
			  !kl_affine_has(&access->index, block->root->counter) &&
			  access->index.n > 1;
	}
	return reused;
}

static bool can_block(struct block *out, const struct kl_transforming *work,
		      const struct kl_loop *root)
{
	const struct kl_loops *loops = work->loops;
	struct kl_cstmts stmts = { 0 };
	bool fine;

	*out = (struct block){ .root = root };
	if (root->parent >= 0 || root->innermost || !kl_transform_is_plain(root))
		return false;
	fine = kl_loop_body(&stmts, loops, root) &&
	       kl_accesses_read(&out->accesses, loops, &stmts) &&
	       kl_transform_is_independent(work, &out->accesses, NULL);
	kl_cstmts_release(&stmts);
	for (size_t i = 0; fine && i < loops->n; i++) {
		const struct kl_loop *loop = &loops->v[i];

		if (loop->first <= root->first || loop->last > root->last || !loop->owns ||
		    !loop->from_zero || !kl_transform_is_plain(loop) || loop->parent < 0)
			continue;
		out->column = loop;
		if (!kl_transform_count(work->tokens, root->first, loop->bound_last + 1, "while") &&
		    all_in_columns(work, root, loop) && owns_scalars(work, out) && is_reused(out))
			return kl_transform_count(work->tokens, loop->bound_first, loop->bound_last,
						  root->counter) == 0;
	}
	return false;
}

/* Copy the nest, with the loops over columns limited to the range from `start` to `end`. */
static void write_nest(struct kl_buf *out, const struct kl_transforming *work,
		       const struct block *block, const char *start, const char *end)
{
	const struct kl_ctokens *tokens = work->tokens;
	size_t at = tokens->t[block->root->first].off;

	for (size_t i = 0; i < work->loops->n; i++) {
		const struct kl_loop *loop = &work->loops->v[i];
		size_t open = loop->first + 1, close = (size_t)tokens->t[open].match;

		if (loop->first < block->root->first || loop->last > block->root->last ||
		    !same_head(work, loop, block->column))
			continue;
		kl_buf_add(out, tokens->text + at, tokens->t[open].off + 1 - at);
		kl_buf_addf(out, "%s %s = %s; %s < %s; %s++", loop->type, loop->counter, start,
			    loop->counter, end, loop->counter);
		at = tokens->t[close].off;
	}
	kl_buf_add(out, tokens->text + at,
		   tokens->t[block->root->last].off + tokens->t[block->root->last].len - at);
}

static void write_blocks(struct kl_transforming *work, const struct block *block)
{
	const struct kl_loop *column = block->column;
	struct kl_loop_text text;
	KL_AUTO(kl_buf_release) struct kl_buf nest = KL_BUF_INIT;
	KL_AUTO(kl_freep) char *start = kl_transform_fresh(work, column->counter, 0);
	KL_AUTO(kl_freep) char *end = kl_transform_fresh(work, column->counter, 1);
	KL_AUTO(kl_freep) char *bound = kl_loop_bound(work->loops, column);

	kl_loop_text_init(&text, work->loops, block->root);
	write_nest(&nest, work, block, start, end);
	kl_loop_text_line(&text, 0, "for (%s %s = 0; %s < %s; %s += %lld) {", column->type, start,
			  start, bound, start, (long long)work->value);
	kl_loop_text_line(&text, 1, "const %s %s = %s + %lld < %s ? %s + %lld : %s;", column->type,
			  end, start, (long long)work->value, bound, start, (long long)work->value,
			  bound);
	kl_loop_text_code(&text, nest.ptr);
	kl_loop_text_line(&text, 0, "}");
	kl_loop_text_replace(&work->edits, &text, block->root);
	kl_loop_text_release(&text);
}

void kl_transform_cache_block(struct kl_transforming *work)
{
	for (size_t i = 0; i < work->loops->n; i++) {
		struct block block;

		if (can_block(&block, work, &work->loops->v[i]))
			write_blocks(work, &block);
		kl_accesses_release(&block.accesses);
	}
}
