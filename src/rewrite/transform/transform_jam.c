/* SPDX-License-Identifier: Apache-2.0 */
/* transform_jam - unrolls the loop around an innermost loop, and lets the copies share that loop */
#include <string.h>

#include "base/mem.h"
#include "rewrite/transform/transform_parts.h"

/* A loop whose body has one innermost loop, with statements before and after it. */
struct jam {
	const struct kl_loop *outer, *inner;
	struct kl_cstmts around, within; /* statements of the two bodies */
	size_t at;                       /* index of `inner` in `around` */
	struct kl_accesses accesses;
};

static void jam_release(struct jam *jam)
{
	kl_cstmts_release(&jam->around);
	kl_cstmts_release(&jam->within);
	kl_accesses_release(&jam->accesses);
}

/* --- may the copies share the loop? ----------------------------------------------------------- */

static bool is_declared(const struct kl_transforming *work, const struct kl_cstmts *stmts,
			const struct kl_cvar *var)
{
	for (size_t i = 0; i < stmts->n; i++)
		if (stmts->v[i].kind == KL_CSTMT_DECLARE &&
		    kl_cvars_at(&work->loops->vars, stmts->v[i].name) == var)
			return true;
	return false;
}

/* Check that each assigned scalar is declared in the outer body, so that each copy has its own. */
static bool owns_scalars(const struct kl_transforming *work, const struct jam *jam,
			 const struct kl_cstmts *stmts)
{
	for (size_t i = 0; i < stmts->n; i++) {
		const struct kl_cvar *var;

		if (stmts->v[i].kind != KL_CSTMT_ASSIGN ||
		    stmts->v[i].name != stmts->v[i].target_last)
			continue;
		var = kl_cvars_at(&work->loops->vars, stmts->v[i].name);
		if (!var || (!is_declared(work, &jam->around, var) &&
			     !is_declared(work, &jam->within, var)))
			return false;
	}
	return true;
}

/* Check that the inner loop's head is the same for all copies. */
static bool is_head_shared(const struct kl_transforming *work, const struct jam *jam)
{
	size_t open = jam->inner->first + 1;

	for (size_t i = open; i < (size_t)work->tokens->t[open].match; i++) {
		const struct kl_cvar *var = kl_cvars_at(&work->loops->vars, i);

		if (kl_ctoken_is(work->tokens, i, jam->outer->counter) ||
		    (var && is_declared(work, &jam->around, var)))
			return false;
	}
	return true;
}

/*
 * Check that the copies write in the same order as the rounds of the outer loop. If the index does
 * not move with the outer counter, each round of the inner loop writes an element of its own, in
 * which the copies meet in order. Otherwise the rounds of the outer loop write different elements:
 * the index stays the same in the inner loop, or the two counters are the row and the column of a
 * matrix.
 */
static bool is_apart(const struct kl_transforming *work, const struct jam *jam,
		     const struct kl_access *access)
{
	struct kl_affine outer, inner, bound;

	if (!kl_affine_stride(&outer, &access->index, jam->outer->counter) ||
	    !kl_affine_stride(&inner, &access->index, jam->inner->counter))
		return false;
	if (!outer.n)
		return kl_affine_is(&inner, 1);
	if (!inner.n)
		return true;
	if (kl_affine_is(&inner, 1))
		return jam->inner->from_zero &&
		       kl_affine_read(&bound, work->tokens, jam->inner->bound_first,
				      jam->inner->bound_last) &&
		       kl_affine_equal(&outer, &bound);
	return kl_affine_is(&outer, 1) && jam->outer->from_zero &&
	       kl_affine_read(&bound, work->tokens, jam->outer->bound_first,
			      jam->outer->bound_last) &&
	       kl_affine_equal(&inner, &bound);
}

/*
 * Return true if the inner loop reads or writes an element whose index does not depend on the outer
 * loop. All copies of the body use this element, so that one load can serve all of them.
 */
static bool is_shared(const struct kl_transforming *work, const struct jam *jam)
{
	struct kl_accesses within = { 0 };
	bool shared = false;

	if (kl_accesses_read(&within, work->loops, &jam->within))
		for (size_t i = 0; i < within.n; i++)
			shared |= !kl_affine_has(&within.v[i].index, jam->outer->counter) &&
				  kl_affine_has(&within.v[i].index, jam->inner->counter);
	kl_accesses_release(&within);
	return shared;
}

/* Return true if threads can share the rounds of the loop even after it is unrolled. */
static bool is_parallel(const struct kl_loop *loop)
{
	return loop->parallel && loop->step == 1 && loop->from_zero && !loop->remainder;
}

static bool can_jam(struct jam *out, const struct kl_transforming *work,
		    const struct kl_loop *outer)
{
	*out = (struct jam){ .outer = outer };
	if (outer->innermost || (!kl_transform_is_plain(outer) && !is_parallel(outer)) ||
	    !kl_loop_body(&out->around, work->loops, outer))
		return false;
	for (size_t i = 0; i < out->around.n; i++)
		if (out->around.v[i].kind == KL_CSTMT_LOOP) {
			if (out->inner)
				return false;
			out->inner = out->around.v[i].loop;
			out->at = i;
		}
	if (!out->inner || !out->inner->innermost || !kl_transform_is_plain(out->inner) ||
	    !out->inner->owns || !kl_loop_body(&out->within, work->loops, out->inner) ||
	    !kl_accesses_read(&out->accesses, work->loops, &out->around) ||
	    !kl_transform_is_independent(work, &out->accesses, NULL) ||
	    !is_head_shared(work, out) || !owns_scalars(work, out, &out->around) ||
	    !owns_scalars(work, out, &out->within))
		return false;
	for (size_t i = 0; i < out->accesses.n; i++)
		if (out->accesses.v[i].write && !is_apart(work, out, &out->accesses.v[i]))
			return false;
	return is_shared(work, out);
}

/* --- writing ---------------------------------------------------------------------------------- */

/* The renames of all copies: rename[k] and n[k] are those of copy k. */
struct copies {
	struct kl_rename *rename[KL_TRANSFORM_COPIES];
	size_t n[KL_TRANSFORM_COPIES];
};

static void make_copies(struct copies *out, const struct kl_transforming *work,
			const struct jam *jam)
{
	for (int64_t k = 1; k < work->value; k++) {
		struct kl_rename *rename = kl_calloc(jam->around.n + jam->within.n + 1,
						     sizeof(*rename));

		rename[0].from = jam->outer->counter;
		rename[0].to = kl_asprintf("%s + %lld", jam->outer->counter, (long long)k);
		out->n[k] = 1 + kl_transform_rename(rename + 1, work, &jam->around, k);
		out->n[k] += kl_transform_rename(rename + out->n[k], work, &jam->within, k);
		out->rename[k] = rename;
	}
}

static void free_copies(struct copies *copies)
{
	for (size_t k = 1; k < KL_TRANSFORM_COPIES; k++)
		kl_transform_free_renames(copies->rename[k], copies->n[k]);
}

static void write_copies(struct kl_loop_text *text, int depth, const struct kl_cstmts *stmts,
			 size_t first, size_t end, const struct kl_transforming *work,
			 const struct copies *copies)
{
	for (size_t i = first; i < end; i++)
		for (int64_t k = 0; k < work->value; k++)
			kl_loop_text_stmt(text, depth, &stmts->v[i], copies->rename[k],
					  copies->n[k]);
}

static void write_jammed(struct kl_transforming *work, const struct jam *jam)
{
	struct copies copies = { 0 };
	struct kl_loop_text text;
	KL_AUTO(kl_freep) char *wide = kl_loop_wide_head(work->loops, jam->outer, work->value);
	KL_AUTO(kl_freep) char *rest = kl_loop_rest_head(work->loops, jam->outer, work->value);
	KL_AUTO(kl_freep) char *inner = kl_loop_head(work->loops, jam->inner);

	make_copies(&copies, work, jam);
	kl_loop_text_init(&text, work->loops, jam->outer);
	kl_loop_text_line(&text, 0, "for (%s) {", wide);
	write_copies(&text, 1, &jam->around, 0, jam->at, work, &copies);
	kl_loop_text_line(&text, 1, "for (%s) {", inner);
	write_copies(&text, 2, &jam->within, 0, jam->within.n, work, &copies);
	kl_loop_text_line(&text, 1, "}");
	write_copies(&text, 1, &jam->around, jam->at + 1, jam->around.n, work, &copies);
	kl_loop_text_line(&text, 0, "}");
	kl_loop_text_line(&text, 0, "for (%s) {", rest);
	kl_loop_text_stmts(&text, 1, &jam->around,
			   &(struct kl_rename){ jam->outer->counter, jam->outer->counter }, 1);
	kl_loop_text_line(&text, 0, "}");
	kl_loop_text_replace(&work->edits, &text, jam->outer);
	kl_loop_text_release(&text);
	free_copies(&copies);
}

void kl_transform_unroll_jam(struct kl_transforming *work)
{
	for (size_t i = 0; i < work->loops->n; i++) {
		struct jam jam;

		if (can_jam(&jam, work, &work->loops->v[i]))
			write_jammed(work, &jam);
		jam_release(&jam);
	}
}
