/* SPDX-License-Identifier: Apache-2.0 */
/* transform_vector - computes several elements of an innermost loop at once, by vectors of GNU C */
#include <string.h>

#include "base/mem.h"
#include "rewrite/transform/transform_parts.h"

#define VECTOR_BYTES 32
#define MAX_TARGETS 4

/* An innermost loop, and how it is computed by vectors. */
struct vectors {
	const struct kl_loop *loop;
	struct kl_cstmts stmts;
	struct kl_accesses accesses;
	const char *type; /* of the elements */
	int64_t lanes;    /* elements in a vector */
	char *vector;     /* name of the vector's type */
};

static void vectors_release(struct vectors *vectors)
{
	kl_cstmts_release(&vectors->stmts);
	kl_accesses_release(&vectors->accesses);
	free(vectors->vector);
}

/* --- may the loop be computed by vectors? ----------------------------------------------------- */

/* Set the type of elements, or check that it is the same. */
static bool same_type(struct vectors *vectors, const char *type)
{
	if (!vectors->type)
		vectors->type = type;
	return !strcmp(vectors->type, type);
}

/* Check an access: its elements are contiguous, or it is one element that is only read. */
static bool check_access(struct vectors *vectors, const struct kl_access *access)
{
	struct kl_affine stride;

	if (!same_type(vectors, access->type) || kl_cvar_bytes(access->type) < 4 ||
	    !kl_affine_stride(&stride, &access->index, vectors->loop->counter))
		return false;
	return kl_affine_is(&stride, 1) || (!stride.n && !access->write);
}

/* Return the access whose first token is `i`, or NULL. */
static const struct kl_access *access_at(const struct vectors *vectors, size_t i)
{
	for (size_t k = 0; k < vectors->accesses.n; k++)
		if (vectors->accesses.v[k].first == i)
			return &vectors->accesses.v[k];
	return NULL;
}

static bool is_vector_access(const struct vectors *vectors, const struct kl_access *access)
{
	struct kl_affine stride;

	return kl_affine_stride(&stride, &access->index, vectors->loop->counter) && stride.n;
}

/* Check that a number has the type of the elements, or is an integer. */
static bool check_number(const struct vectors *vectors, const struct kl_ctokens *tokens, size_t i)
{
	const char *text = tokens->text + tokens->t[i].off;
	size_t n = tokens->t[i].len, digits = strspn(text, "0123456789");

	if (digits >= n)
		return n < 8;
	if (!strcmp(vectors->type, "float"))
		return text[n - 1] == 'f' || text[n - 1] == 'F';
	return !strcmp(vectors->type, "double") && !strchr("fFlL", text[n - 1]);
}

/* Check that a variable is declared in the loop. */
static bool is_local(const struct vectors *vectors, const struct kl_cvar *var)
{
	return var->at > vectors->loop->first && var->at < vectors->loop->last;
}

/*
 * Check that an expression can be computed by vectors: it consists of sums and products of elements
 * and of scalars of their type. Set *wide if it has elements, or variables of the body.
 */
static bool check_value(bool *wide, const struct vectors *vectors,
			const struct kl_transforming *work, size_t first, size_t last)
{
	const struct kl_ctokens *tokens = work->tokens;

	for (size_t i = first; i <= last; i++) {
		const struct kl_access *access = access_at(vectors, i);
		const struct kl_cvar *var = kl_cvars_at(&work->loops->vars, i);

		if (access) {
			*wide |= is_vector_access(vectors, access);
			i = access->last;
		} else if (tokens->t[i].kind == KL_CT_NUMBER) {
			if (!check_number(vectors, tokens, i))
				return false;
		} else if (tokens->t[i].kind == KL_CT_IDENT) {
			if (!var || var->stars || var->array || strcmp(var->type, vectors->type) ||
			    !strcmp(var->name, vectors->loop->counter))
				return false;
			*wide |= is_local(vectors, var);
		} else if (!strchr("+-*/()", tokens->text[tokens->t[i].off])) {
			return false;
		}
	}
	return true;
}

static bool check_sum(struct vectors *vectors, const struct kl_transforming *work,
		      const struct kl_cstmt *stmt)
{
	const struct kl_loop *loop = vectors->loop;
	const struct kl_cvar *var = kl_cvars_at(&work->loops->vars, stmt->name);

	return kl_cstmt_is_sum(work->loops, stmt) && same_type(vectors, var->type) &&
	       var->at < loop->first &&
	       kl_transform_count(work->tokens, loop->body_first, loop->body_last, var->name) == 1;
}

static bool check_statements(struct vectors *vectors, const struct kl_transforming *work)
{
	size_t targets = 0;

	for (size_t i = 0; i < vectors->accesses.n; i++)
		if (!check_access(vectors, &vectors->accesses.v[i]))
			return false;
	for (size_t i = 0; i < vectors->stmts.n; i++) {
		const struct kl_cstmt *stmt = &vectors->stmts.v[i];
		const struct kl_cvar *var = kl_cvars_at(&work->loops->vars, stmt->name);
		bool wide = false;

		if (stmt->kind == KL_CSTMT_DECLARE) {
			if (!var || var->stars || !same_type(vectors, var->type) ||
			    kl_loop_assigns(work->tokens, var->init_last, vectors->loop->last,
					    var->name))
				return false;
		} else {
			targets++;
			if (stmt->name == stmt->target_last && !check_sum(vectors, work, stmt))
				return false;
		}
		if (!check_value(&wide, vectors, work, stmt->value_first, stmt->value_last) ||
		    !wide)
			return false;
	}
	return targets && targets <= MAX_TARGETS;
}

static bool can_vectorize(struct vectors *out, const struct kl_transforming *work,
			  const struct kl_loop *loop)
{
	*out = (struct vectors){ .loop = loop };
	if (!loop->innermost || !kl_transform_is_plain(loop) ||
	    !kl_loop_body(&out->stmts, work->loops, loop) ||
	    !kl_accesses_read(&out->accesses, work->loops, &out->stmts) || !out->accesses.n ||
	    !kl_transform_is_independent(work, &out->accesses, loop) ||
	    !check_statements(out, work))
		return false;
	out->lanes = VECTOR_BYTES / (int64_t)kl_cvar_bytes(out->type);
	out->vector = kl_asprintf("%s_x%lld", out->type, (long long)out->lanes);
	return true;
}

/* --- writing ---------------------------------------------------------------------------------- */

/* Append an expression with vectors in place of elements. */
static void write_value(struct kl_buf *out, const struct vectors *vectors,
			const struct kl_transforming *work, size_t first, size_t last,
			const struct kl_rename *rename, size_t n)
{
	const struct kl_ctokens *tokens = work->tokens;

	for (size_t i = first; i <= last; i++) {
		const struct kl_access *access = access_at(vectors, i);

		if (i > first && tokens->t[i - 1].off + tokens->t[i - 1].len < tokens->t[i].off)
			kl_buf_addch(out, ' ');
		if (access && is_vector_access(vectors, access)) {
			kl_buf_addf(out, "(*(const %s *)&", vectors->vector);
			kl_ctokens_copy(out, tokens, access->first, access->last, rename, n);
			kl_buf_addch(out, ')');
		} else {
			size_t end = access ? access->last : i;

			kl_ctokens_copy(out, tokens, i, end, rename, n);
		}
		i = access ? access->last : i;
	}
}

/*
 * Write the renames of copy `number`, whose counter is ahead by as many vectors. Return their
 * number.
 */
static size_t vector_names(struct kl_rename *out, const struct vectors *vectors,
			   const struct kl_transforming *work, int64_t number)
{
	const struct kl_loop *loop = vectors->loop;
	size_t n = 0;

	if (number)
		out[n++] = (struct kl_rename){ loop->counter,
					       kl_asprintf("%s + %lld", loop->counter,
							   (long long)(number * vectors->lanes)) };
	for (size_t i = 0; i < vectors->stmts.n; i++) {
		const struct kl_cstmt *stmt = &vectors->stmts.v[i];
		const struct kl_cvar *var = kl_cvars_at(&work->loops->vars, stmt->name);

		if (stmt->kind == KL_CSTMT_DECLARE || stmt->name == stmt->target_last) {
			out[n].from = var->name;
			out[n++].to = kl_transform_fresh(work, var->name, number);
		}
	}
	return n;
}

static void write_statement(struct kl_loop_text *text, const struct vectors *vectors,
			    const struct kl_transforming *work, const struct kl_cstmt *stmt,
			    const struct kl_rename *rename, size_t n)
{
	KL_AUTO(kl_buf_release) struct kl_buf value = KL_BUF_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf target = KL_BUF_INIT;

	write_value(&value, vectors, work, stmt->value_first, stmt->value_last, rename, n);
	kl_ctokens_copy(&target, work->tokens, stmt->name,
			stmt->kind == KL_CSTMT_DECLARE ? stmt->name : stmt->target_last, rename, n);
	if (stmt->kind == KL_CSTMT_DECLARE)
		kl_loop_text_line(text, 1, "%s %s = %s;", vectors->vector, target.ptr, value.ptr);
	else if (stmt->name == stmt->target_last)
		kl_loop_text_line(text, 1, "%s += %s;", target.ptr, value.ptr);
	else
		kl_loop_text_line(text, 1, "*(%s *)&%s %.*s= %s;", vectors->vector, target.ptr,
				  stmt->op != '=', &stmt->op, value.ptr);
}

static void write_copy(struct kl_loop_text *text, const struct vectors *vectors,
		       const struct kl_transforming *work, int64_t number)
{
	struct kl_rename *rename = kl_calloc(vectors->stmts.n + 2, sizeof(*rename));
	size_t n = vector_names(rename, vectors, work, number);

	for (size_t i = 0; i < vectors->stmts.n; i++)
		write_statement(text, vectors, work, &vectors->stmts.v[i], rename, n);
	kl_transform_free_renames(rename, n);
}

/* Declare the vectors of a sum before the loop or, with `add`, add up their elements after it. */
static void write_sum(struct kl_loop_text *text, const struct vectors *vectors,
		      const struct kl_transforming *work, const char *name, bool add)
{
	KL_AUTO(kl_freep) char *first = kl_transform_fresh(work, name, 0);
	KL_AUTO(kl_freep) char *lane = kl_transform_fresh(work, "lane", 0);

	if (!add)
		kl_loop_text_line(text, 0, "%s %s = { 0 };", vectors->vector, first);
	for (int64_t k = 1; k < work->value; k++) {
		KL_AUTO(kl_freep) char *other = kl_transform_fresh(work, name, k);

		if (add)
			kl_loop_text_line(text, 0, "%s += %s;", first, other);
		else
			kl_loop_text_line(text, 0, "%s %s = { 0 };", vectors->vector, other);
	}
	if (!add)
		return;
	kl_loop_text_line(text, 0, "for (int %s = 0; %s < %lld; %s++)", lane, lane,
			  (long long)vectors->lanes, lane);
	kl_loop_text_line(text, 1, "%s += %s[%s];", name, first, lane);
}

static void write_sums(struct kl_loop_text *text, const struct vectors *vectors,
		       const struct kl_transforming *work, bool add)
{
	for (size_t i = 0; i < vectors->stmts.n; i++) {
		const struct kl_cstmt *stmt = &vectors->stmts.v[i];

		if (stmt->kind == KL_CSTMT_ASSIGN && stmt->name == stmt->target_last)
			write_sum(text, vectors, work,
				  kl_cvars_at(&work->loops->vars, stmt->name)->name, add);
	}
}

static void write_vectors(struct kl_transforming *work, const struct vectors *vectors)
{
	const struct kl_loop *loop = vectors->loop;
	struct kl_loop_text text;
	int64_t width = work->value * vectors->lanes;
	KL_AUTO(kl_freep) char *wide = kl_loop_wide_head(work->loops, loop, width);
	KL_AUTO(kl_freep) char *rest = kl_loop_rest_head(work->loops, loop, width);

	work->offset = 0;
	for (size_t i = 0; i < vectors->stmts.n; i++)
		if (vectors->stmts.v[i].name == vectors->stmts.v[i].target_last)
			kl_transform_reserve(
				work,
				kl_cvars_at(&work->loops->vars, vectors->stmts.v[i].name)->name);
	kl_loop_text_init(&text, work->loops, loop);
	kl_loop_text_line(
		&text, 0,
		"typedef %s %s __attribute__((vector_size(%d), aligned(%zu), may_alias));",
		vectors->type, vectors->vector, VECTOR_BYTES, kl_cvar_bytes(vectors->type));
	write_sums(&text, vectors, work, false);
	kl_loop_text_line(&text, 0, "for (%s) {", wide);
	for (int64_t k = 0; k < work->value; k++)
		write_copy(&text, vectors, work, k);
	kl_loop_text_line(&text, 0, "}");
	write_sums(&text, vectors, work, true);
	kl_loop_text_line(&text, 0, "for (%s)%s", rest, vectors->stmts.n > 1 ? " {" : "");
	kl_loop_text_stmts(&text, 1, &vectors->stmts, NULL, 0);
	if (vectors->stmts.n > 1)
		kl_loop_text_line(&text, 0, "}");
	kl_loop_text_replace(&work->edits, &text, loop);
	kl_loop_text_release(&text);
}

void kl_transform_vector(struct kl_transforming *work)
{
	for (size_t i = 0; i < work->loops->n; i++) {
		struct vectors vectors;

		if (can_vectorize(&vectors, work, &work->loops->v[i]))
			write_vectors(work, &vectors);
		vectors_release(&vectors);
	}
}
