/* SPDX-License-Identifier: Apache-2.0 */
/* transform_pack - copies an operand that is read with a stride, so that it is read in order */
#include <string.h>

#include "base/mem.h"
#include "rewrite/transform/transform_parts.h"

/*
 * A nest of loops, and an operand that the innermost loop reads with a stride. Elements that are
 * next to each other in memory have neighbouring values of `row`'s counter. Each round of `root`
 * reads the whole operand again.
 */
struct pack {
	const struct kl_loop *root, *row, *inner;
	struct kl_accesses accesses; /* of the whole nest */
	const struct kl_access *operand;
};

/* --- may the operand be packed? --------------------------------------------------------------- */

static bool is_inside(const struct kl_loop *loop, const struct kl_loop *outer)
{
	return outer->first < loop->first && loop->last <= outer->last;
}

/* Return true if all names in the tokens but counters have the same values before the nest. */
static bool is_early(const struct kl_transforming *work, const struct pack *pack, size_t first,
		     size_t last, bool counters)
{
	for (size_t i = first; i <= last; i++) {
		const struct kl_cvar *var = kl_cvars_at(&work->loops->vars, i);

		if (work->tokens->t[i].kind != KL_CT_IDENT ||
		    (counters && (kl_ctoken_is(work->tokens, i, pack->row->counter) ||
				  kl_ctoken_is(work->tokens, i, pack->inner->counter))))
			continue;
		if (!var || var->at >= pack->root->first ||
		    kl_loop_assigns(work->tokens, pack->root->first, pack->root->last, var->name))
			return false;
	}
	return true;
}

static bool is_counted(const struct kl_transforming *work, const struct pack *pack,
		       const struct kl_loop *loop)
{
	return loop->from_zero && kl_transform_is_plain(loop) &&
	       is_early(work, pack, loop->bound_first, loop->bound_last, false);
}

/*
 * Return true if the innermost loop reads the operand with a stride, if the loop `row` moves the
 * index by one, and if the index contains no other counter.
 */
static bool is_strided(const struct kl_transforming *work, const struct pack *pack,
		       const struct kl_access *access)
{
	struct kl_affine inner, row;

	if (access->write || access->root->array || kl_cvar_bytes(access->type) < 2 ||
	    !kl_affine_stride(&inner, &access->index, pack->inner->counter) ||
	    !kl_affine_stride(&row, &access->index, pack->row->counter) || !inner.n ||
	    kl_affine_is(&inner, 1) || kl_affine_is(&inner, -1) || !kl_affine_is(&row, 1))
		return false;
	for (size_t i = 0; i < work->loops->n; i++) {
		const struct kl_loop *loop = &work->loops->v[i];

		if (loop != pack->row && loop != pack->inner &&
		    (loop == pack->root || is_inside(loop, pack->root)) &&
		    strcmp(loop->counter, pack->row->counter) != 0 &&
		    strcmp(loop->counter, pack->inner->counter) != 0 &&
		    kl_affine_has(&access->index, loop->counter))
			return false;
	}
	return is_early(work, pack, access->first, access->last, true);
}

/*
 * Return a name for the copy, which the caller frees, or NULL if the function has the name already.
 */
static char *name_copy(const struct kl_transforming *work, const struct pack *pack)
{
	const struct kl_cfn *fn = &work->tokens->fn[work->tokens->t[pack->root->first].fn];
	KL_AUTO(kl_freep) char *name = kl_asprintf("%s_packed", pack->operand->root->name);

	return kl_transform_count(work->tokens, fn->first, fn->last, name) ? NULL : kl_steal(&name);
}

/* Find an operand of the innermost loop. */
static bool find_operand(struct pack *pack, const struct kl_transforming *work)
{
	for (size_t i = 0; i < pack->accesses.n; i++) {
		const struct kl_access *access = &pack->accesses.v[i];

		if (access->first < pack->inner->first || access->last > pack->inner->last ||
		    !is_strided(work, pack, access))
			continue;
		pack->operand = access;
		return true;
	}
	return false;
}

/* Find an innermost loop that reads an operand with a stride, and a loop around it for `row`. */
static bool find_loops(struct pack *pack, const struct kl_transforming *work)
{
	const struct kl_loops *loops = work->loops;

	for (size_t i = 0; i < loops->n; i++) {
		pack->inner = &loops->v[i];
		if (!pack->inner->innermost || !is_inside(pack->inner, pack->root) ||
		    !is_counted(work, pack, pack->inner))
			continue;
		for (int up = pack->inner->parent; up >= 0; up = loops->v[up].parent) {
			pack->row = &loops->v[up];
			if (pack->row == pack->root)
				break;
			if (is_counted(work, pack, pack->row) && find_operand(pack, work))
				return true;
		}
	}
	return false;
}

static bool can_pack(struct pack *out, const struct kl_transforming *work,
		     const struct kl_loop *root)
{
	struct kl_cstmts stmts = { 0 };
	bool fine;

	*out = (struct pack){ .root = root };
	if (root->parent >= 0 || root->innermost || !kl_transform_is_plain(root))
		return false;
	fine = kl_loop_body(&stmts, work->loops, root) &&
	       kl_accesses_read(&out->accesses, work->loops, &stmts) &&
	       kl_transform_is_independent(work, &out->accesses, NULL);
	kl_cstmts_release(&stmts);
	return fine && find_loops(out, work);
}

/* --- writing ---------------------------------------------------------------------------------- */

/* Copy the nest with elements of the copy in place of those of the operand. */
static void copy_nest(struct kl_buf *out, const struct kl_transforming *work,
		      const struct pack *pack, const char *name)
{
	const struct kl_ctokens *tokens = work->tokens;
	KL_AUTO(kl_freep) char *rounds = kl_loop_bound(work->loops, pack->inner);
	size_t at = tokens->t[pack->root->first].off;
	size_t end = tokens->t[pack->root->last].off + tokens->t[pack->root->last].len;

	for (size_t i = 0; i < pack->accesses.n; i++) {
		const struct kl_access *access = &pack->accesses.v[i];

		if (access->root != pack->operand->root || access->first < pack->inner->first ||
		    access->last > pack->inner->last ||
		    !kl_affine_equal(&access->index, &pack->operand->index))
			continue;
		kl_buf_add(out, tokens->text + at, tokens->t[access->first].off - at);
		kl_buf_addf(out, "%s[%s * %s + %s]", name, pack->row->counter, rounds,
			    pack->inner->counter);
		at = tokens->t[access->last].off + tokens->t[access->last].len;
	}
	kl_buf_add(out, tokens->text + at, end - at);
}

static void write_packed(struct kl_transforming *work, const struct pack *pack, const char *name)
{
	const struct kl_ctokens *tokens = work->tokens;
	const struct kl_loop *row = pack->row, *inner = pack->inner;
	struct kl_loop_text text;
	KL_AUTO(kl_freep) char *columns = kl_loop_bound(work->loops, row);
	KL_AUTO(kl_freep) char *rounds = kl_loop_bound(work->loops, inner);
	KL_AUTO(kl_freep) char *element = kl_ctokens_text(tokens, pack->operand->first,
							  pack->operand->last, NULL, 0);
	KL_AUTO(kl_freep) char *nest = kl_strndup(tokens->text + tokens->t[pack->root->first].off,
						  tokens->t[pack->root->last].off +
							  tokens->t[pack->root->last].len -
							  tokens->t[pack->root->first].off);
	KL_AUTO(kl_buf_release) struct kl_buf copy = KL_BUF_INIT;

	copy_nest(&copy, work, pack, name);
	kl_loop_text_init(&text, work->loops, pack->root);
	kl_loop_text_line(&text, 0, "%s *%s = %s > 0 && %s > 0 ?", pack->operand->type, name,
			  columns, rounds);
	kl_loop_text_line(&text, 1,
			  "(%s *)__builtin_malloc((unsigned long)%s * (unsigned long)%s * "
			  "sizeof(%s)) : 0;",
			  pack->operand->type, columns, rounds, pack->operand->type);
	kl_loop_text_line(&text, 0, "if (%s) {", name);
	kl_loop_text_line(&text, 1, "for (%s %s = 0; %s < %s; %s++)", inner->type, inner->counter,
			  inner->counter, rounds, inner->counter);
	kl_loop_text_line(&text, 2, "for (%s %s = 0; %s < %s; %s++)", row->type, row->counter,
			  row->counter, columns, row->counter);
	kl_loop_text_line(&text, 3, "%s[%s * %s + %s] = %s;", name, row->counter, rounds,
			  inner->counter, element);
	kl_loop_text_code(&text, copy.ptr);
	kl_loop_text_line(&text, 1, "__builtin_free(%s);", name);
	kl_loop_text_line(&text, 0, "} else {");
	kl_loop_text_code(&text, nest);
	kl_loop_text_line(&text, 0, "}");
	kl_loop_text_replace(&work->edits, &text, pack->root);
	kl_loop_text_release(&text);
}

void kl_transform_pack(struct kl_transforming *work)
{
	for (size_t i = 0; i < work->loops->n; i++) {
		struct pack pack;
		KL_AUTO(kl_freep) char *name = NULL;

		if (can_pack(&pack, work, &work->loops->v[i]) && (name = name_copy(work, &pack)))
			write_packed(work, &pack, name);
		kl_accesses_release(&pack.accesses);
	}
}
