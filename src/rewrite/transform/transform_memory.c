/* SPDX-License-Identifier: Apache-2.0 */
/* transform_memory - keeps elements in variables during a loop, and prefetches elements */
#include <string.h>

#include "base/mem.h"
#include "rewrite/transform/transform_parts.h"

#define MAX_ELEMENTS 8

static bool read_accesses(struct kl_accesses *out, const struct kl_transforming *work,
			  const struct kl_loop *loop)
{
	struct kl_cstmts stmts = { 0 };
	bool fine = loop->innermost && kl_transform_is_plain(loop) &&
		    kl_loop_body(&stmts, work->loops, loop) &&
		    kl_accesses_read(out, work->loops, &stmts);

	kl_cstmts_release(&stmts);
	return fine;
}

/* --- hoist ------------------------------------------------------------------------------------ */

/* Elements that stay the same in a loop, each with the name of its variable. */
struct elements {
	const struct kl_access *access[MAX_ELEMENTS]; /* the first access to the element */
	bool written[MAX_ELEMENTS];
	char *name[MAX_ELEMENTS];
	size_t n;
};

static size_t find_element(const struct elements *elements, const struct kl_access *access)
{
	size_t i = 0;

	while (i < elements->n && (elements->access[i]->root != access->root ||
				   !kl_affine_equal(&elements->access[i]->index, &access->index)))
		i++;
	return i;
}

/*
 * Find the elements. Return false if there are none, or if the loop writes nothing to memory,
 * because a compiler then keeps them in registers by itself.
 */
static bool find_elements(struct elements *out, const struct kl_transforming *work,
			  const struct kl_loop *loop, const struct kl_accesses *accesses)
{
	bool writes = false;

	for (size_t i = 0; i < accesses->n; i++) {
		const struct kl_access *access = &accesses->v[i];
		struct kl_affine stride;
		size_t at;

		writes |= access->write;
		if (!kl_affine_stride(&stride, &access->index, loop->counter))
			return false;
		if (stride.n)
			continue;
		/* the names in the index must have their values before the loop */
		for (size_t k = 0; k < work->loops->vars.n; k++)
			if (work->loops->vars.v[k].at > loop->body_first &&
			    work->loops->vars.v[k].at < loop->last &&
			    kl_transform_count(work->tokens, access->first, access->last,
					       work->loops->vars.v[k].name))
				return false;
		at = find_element(out, access);
		if (at == MAX_ELEMENTS)
			return false;
		if (at == out->n) {
			out->access[at] = access;
			out->name[at] = kl_transform_fresh(work, access->root->name,
							   (int64_t)out->n++);
		}
		out->written[at] |= access->write;
	}
	return writes && out->n;
}

/* Copy the loop with the elements replaced by their variables. */
static void copy_loop(struct kl_buf *out, const struct kl_transforming *work,
		      const struct kl_loop *loop, const struct kl_accesses *accesses,
		      const struct elements *elements)
{
	const struct kl_ctokens *tokens = work->tokens;
	size_t at = tokens->t[loop->first].off;
	size_t end = tokens->t[loop->last].off + tokens->t[loop->last].len;

	for (size_t i = loop->first; i <= loop->last; i++)
		for (size_t k = 0; k < accesses->n; k++) {
			const struct kl_access *access = &accesses->v[k];
			size_t which = find_element(elements, access);

			if (access->first != i || which == elements->n)
				continue;
			kl_buf_add(out, tokens->text + at, tokens->t[i].off - at);
			kl_buf_adds(out, elements->name[which]);
			at = tokens->t[access->last].off + tokens->t[access->last].len;
		}
	kl_buf_add(out, tokens->text + at, end - at);
}

/*
 * Write the loop with variables in place of the elements. An `if` around this code keeps a loop
 * without a round from touching the elements.
 */
static void write_hoisted(struct kl_transforming *work, const struct kl_loop *loop,
			  const struct kl_accesses *accesses, const struct elements *elements)
{
	const struct kl_ctokens *tokens = work->tokens;
	struct kl_loop_text text;
	KL_AUTO(kl_buf_release) struct kl_buf copy = KL_BUF_INIT;
	KL_AUTO(kl_freep) char *bound = kl_loop_bound(work->loops, loop);
	KL_AUTO(kl_freep) char *from = kl_ctokens_text(tokens, loop->from_first, loop->from_last,
						       NULL, 0);

	copy_loop(&copy, work, loop, accesses, elements);
	kl_loop_text_init(&text, work->loops, loop);
	if (loop->from_zero)
		kl_loop_text_line(&text, 0, "if (%s > 0) {", bound);
	else
		kl_loop_text_line(&text, 0, "if ((%s) < %s) {", from, bound);
	for (size_t i = 0; i < elements->n; i++) {
		const struct kl_access *access = elements->access[i];
		KL_AUTO(kl_freep) char *element = kl_ctokens_text(tokens, access->first,
								  access->last, NULL, 0);

		kl_loop_text_line(&text, 1, "%s%s %s = %s;", elements->written[i] ? "" : "const ",
				  access->type, elements->name[i], element);
	}
	kl_loop_text_code(&text, copy.ptr);
	for (size_t i = 0; i < elements->n; i++) {
		KL_AUTO(kl_freep) char *element = kl_ctokens_text(
			tokens, elements->access[i]->first, elements->access[i]->last, NULL, 0);

		if (elements->written[i])
			kl_loop_text_line(&text, 1, "%s = %s;", element, elements->name[i]);
	}
	kl_loop_text_line(&text, 0, "}");
	kl_loop_text_replace(&work->edits, &text, loop);
	kl_loop_text_release(&text);
}

void kl_transform_hoist(struct kl_transforming *work)
{
	for (size_t i = 0; i < work->loops->n; i++) {
		const struct kl_loop *loop = &work->loops->v[i];
		struct kl_accesses accesses = { 0 };
		struct elements elements = { 0 };

		if (loop->owns && read_accesses(&accesses, work, loop) &&
		    kl_transform_is_independent(work, &accesses, NULL) &&
		    find_elements(&elements, work, loop, &accesses))
			write_hoisted(work, loop, &accesses, &elements);
		for (size_t k = 0; k < elements.n; k++)
			free(elements.name[k]);
		kl_accesses_release(&accesses);
	}
}

/* --- prefetch --------------------------------------------------------------------------------- */

/* Check that the loop reads the element with a stride of more than one. */
static bool is_strided(const struct kl_access *access, const struct kl_loop *loop)
{
	struct kl_affine stride;

	return access->read && !access->write &&
	       kl_affine_stride(&stride, &access->index, loop->counter) && stride.n &&
	       !kl_affine_is(&stride, 1) && !kl_affine_is(&stride, -1);
}

/* Check that the address differs from that of an earlier access only by a constant. */
static bool is_near(const struct kl_accesses *accesses, size_t at)
{
	for (size_t i = 0; i < at; i++) {
		struct kl_affine gap = accesses->v[i].index;

		if (accesses->v[i].root == accesses->v[at].root &&
		    kl_affine_add(&gap, &accesses->v[at].index, -1) &&
		    (!gap.n || (gap.n == 1 && !*gap.term[0].product)))
			return true;
	}
	return false;
}

static void write_prefetch(struct kl_transforming *work, const struct kl_loop *loop,
			   const struct kl_accesses *accesses)
{
	struct kl_loop_text text;
	struct kl_cstmts stmts;
	KL_AUTO(kl_freep) char *head = kl_loop_head(work->loops, loop);
	KL_AUTO(kl_freep) char *ahead = kl_asprintf("%s + %lld", loop->counter,
						    (long long)work->value);
	const struct kl_rename rename = { loop->counter, ahead };
	bool any = false;

	kl_loop_text_init(&text, work->loops, loop);
	kl_loop_text_line(&text, 0, "for (%s) {", head);
	for (size_t i = 0; i < accesses->n; i++) {
		const struct kl_access *access = &accesses->v[i];
		KL_AUTO(kl_freep) char *element = NULL;

		if (!is_strided(access, loop) || is_near(accesses, i))
			continue;
		element = kl_ctokens_text(work->tokens, access->first, access->last, &rename, 1);
		kl_loop_text_line(&text, 1, "__builtin_prefetch(&%s);", element);
		any = true;
	}
	if (kl_loop_body(&stmts, work->loops, loop))
		kl_loop_text_stmts(&text, 1, &stmts, NULL, 0);
	kl_cstmts_release(&stmts);
	kl_loop_text_line(&text, 0, "}");
	if (any)
		kl_loop_text_replace(&work->edits, &text, loop);
	kl_loop_text_release(&text);
}

/*
 * Check that the indices use no variable of the body, because the addresses are computed at its
 * start.
 */
static bool is_early(const struct kl_transforming *work, const struct kl_loop *loop)
{
	for (size_t i = 0; i < work->loops->vars.n; i++)
		if (work->loops->vars.v[i].at >= loop->body_first &&
		    work->loops->vars.v[i].at <= loop->body_last &&
		    !kl_cvar_is_float(work->loops->vars.v[i].type))
			return false;
	return true;
}

void kl_transform_prefetch(struct kl_transforming *work)
{
	for (size_t i = 0; i < work->loops->n; i++) {
		const struct kl_loop *loop = &work->loops->v[i];
		struct kl_accesses accesses = { 0 };

		if (read_accesses(&accesses, work, loop) && is_early(work, loop))
			write_prefetch(work, loop, &accesses);
		kl_accesses_release(&accesses);
	}
}
