/* SPDX-License-Identifier: Apache-2.0 */
/* transform_unroll - unrolls an innermost sum, with a partial sum for each copy */
#include <string.h>

#include "base/mem.h"
#include "rewrite/transform/transform_parts.h"

#define MAX_SUMS 4

/* The sums of a loop: statements and variables. */
struct sums {
	const struct kl_cstmt *stmt[MAX_SUMS];
	const struct kl_cvar *var[MAX_SUMS];
	size_t n;
};

/* Find the sums. Return false if a statement is neither a sum, nor a declaration, nor a store. */
static bool find_sums(struct sums *out, const struct kl_transforming *work,
		      const struct kl_loop *loop, const struct kl_cstmts *stmts)
{
	for (size_t i = 0; i < stmts->n; i++) {
		const struct kl_cstmt *stmt = &stmts->v[i];
		const struct kl_cvar *var;

		if (stmt->kind == KL_CSTMT_DECLARE || stmt->name != stmt->target_last)
			continue;
		if (!kl_cstmt_is_sum(work->loops, stmt) || out->n == MAX_SUMS)
			return false;
		var = kl_cvars_at(&work->loops->vars, stmt->name);
		if (!kl_cvar_is_float(var->type) || var->at > loop->first ||
		    kl_transform_count(work->tokens, loop->body_first, loop->body_last,
				       var->name) != 1)
			return false;
		out->stmt[out->n] = stmt;
		out->var[out->n++] = var;
	}
	return out->n > 0;
}

/*
 * Rename everything of which copy `number` of the body has its own: the counter, the partial sums
 * and the variables that the body declares.
 */
static size_t make_renames(struct kl_rename *out, const struct kl_transforming *work,
			   const struct kl_loop *loop, const struct kl_cstmts *stmts,
			   const struct sums *sums, int64_t number)
{
	size_t n = 0;

	if (!number)
		return 0;
	out[n++] = (struct kl_rename){ loop->counter,
				       kl_asprintf("%s + %lld", loop->counter, (long long)number) };
	for (size_t i = 0; i < sums->n; i++, n++)
		out[n] = (struct kl_rename){ sums->var[i]->name,
					     kl_transform_fresh(work, sums->var[i]->name, number) };
	return n + kl_transform_rename(out + n, work, stmts, number);
}

static void declare_sums(struct kl_loop_text *text, const struct kl_transforming *work,
			 const struct sums *sums)
{
	for (size_t i = 0; i < sums->n; i++) {
		KL_AUTO(kl_buf_release) struct kl_buf names = KL_BUF_INIT;

		for (int64_t k = 1; k < work->value; k++) {
			KL_AUTO(kl_freep)
			char *name = kl_transform_fresh(work, sums->var[i]->name, k);

			kl_buf_addf(&names, "%s%s = 0", k > 1 ? ", " : "", name);
		}
		kl_loop_text_line(text, 0, "%s %s;", sums->var[i]->type, names.ptr);
	}
}

/* Add the partial sums in pairs: "s += (s_1 + s_2) + s_3;". */
static void add_sums(struct kl_loop_text *text, const struct kl_transforming *work,
		     const struct sums *sums)
{
	for (size_t i = 0; i < sums->n; i++) {
		KL_AUTO(kl_buf_release) struct kl_buf value = KL_BUF_INIT;

		for (int64_t k = 1; k < work->value; k += 2) {
			KL_AUTO(kl_freep)
			char *one = kl_transform_fresh(work, sums->var[i]->name, k);
			KL_AUTO(kl_freep)
			char *two = kl_transform_fresh(work, sums->var[i]->name, k + 1);

			kl_buf_adds(&value, k > 1 ? " + " : "");
			if (k + 1 < work->value)
				kl_buf_addf(&value, "(%s + %s)", one, two);
			else
				kl_buf_adds(&value, one);
		}
		kl_loop_text_line(text, 0, "%s += %s;", sums->var[i]->name, value.ptr);
	}
}

static void write_unrolled(struct kl_transforming *work, const struct kl_loop *loop,
			   const struct kl_cstmts *stmts, const struct sums *sums)
{
	struct kl_loop_text text;
	KL_AUTO(kl_freep) char *wide = kl_loop_wide_head(work->loops, loop, work->value);
	KL_AUTO(kl_freep) char *rest = kl_loop_rest_head(work->loops, loop, work->value);

	work->offset = 0;
	for (size_t i = 0; i < sums->n; i++)
		kl_transform_reserve(work, sums->var[i]->name);
	kl_loop_text_init(&text, work->loops, loop);
	declare_sums(&text, work, sums);
	kl_loop_text_line(&text, 0, "for (%s) {", wide);
	for (int64_t k = 0; k < work->value; k++) {
		struct kl_rename *rename = kl_calloc(stmts->n + MAX_SUMS + 1, sizeof(*rename));
		size_t n = make_renames(rename, work, loop, stmts, sums, k);

		kl_loop_text_stmts(&text, 1, stmts, rename, n);
		kl_transform_free_renames(rename, n);
	}
	kl_loop_text_line(&text, 0, "}");
	add_sums(&text, work, sums);
	kl_loop_text_line(&text, 0, "for (%s)%s", rest, stmts->n > 1 ? " {" : "");
	/* the rename changes nothing, but keeps out the comments, which are in the first copy */
	kl_loop_text_stmts(&text, 1, stmts, &(struct kl_rename){ loop->counter, loop->counter }, 1);
	if (stmts->n > 1)
		kl_loop_text_line(&text, 0, "}");
	kl_loop_text_replace(&work->edits, &text, loop);
	kl_loop_text_release(&text);
}

void kl_transform_unroll(struct kl_transforming *work)
{
	for (size_t i = 0; i < work->loops->n; i++) {
		const struct kl_loop *loop = &work->loops->v[i];
		struct kl_cstmts stmts = { 0 };
		struct sums sums = { 0 };

		if (loop->innermost && kl_transform_is_plain(loop) &&
		    kl_loop_body(&stmts, work->loops, loop) && find_sums(&sums, work, loop, &stmts))
			write_unrolled(work, loop, &stmts, &sums);
		kl_cstmts_release(&stmts);
	}
}
