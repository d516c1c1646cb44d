/* SPDX-License-Identifier: Apache-2.0 */
/* shape_threads - arrays of a source, and how the threads of a GPU share them, for shape */
#include "rewrite/naming/shape_parts.h"

#define NEAR 4000 /* tokens before a variable that are searched for its value */

static void count_arrays(struct kl_shape_reader *reader, const struct kl_shape_source *source)
{
	for (size_t i = 0; i < source->narray; i++) {
		const struct kl_shape_array *array = &source->array[i];

		reader->out->count[KL_SHAPE_SHARED] += array->shared;
		reader->out->count[KL_SHAPE_PADDED] += array->shared && array->padded;
		reader->out->count[KL_SHAPE_DOUBLED] += array->shared && array->doubled;
		reader->out->count[KL_SHAPE_TABLES] += array->valued && array->constant;
		reader->out->count[KL_SHAPE_STATICS] += array->is_static && !array->constant &&
							!array->valued;
		reader->out->count[KL_SHAPE_LOCALS] += array->fn >= 0 && !array->shared &&
						       !array->is_static && !array->constant;
	}
}

/*
 * Look for the index of a thread in tokens first ... end - 1. Return 1 if it is the thread's x, so
 * that neighbouring threads get neighbouring values; -1 if it is y or z, or x divided or
 * multiplied; 0 if there is none.
 */
static int thread_in(const struct kl_ctokens *tokens, size_t first, size_t end)
{
	for (size_t i = first; i + 2 < end; i++) {
		if (!kl_ctoken_is(tokens, i, "threadIdx"))
			continue;
		if (!kl_ctoken_is(tokens, i + 2, "x"))
			return -1;
		return kl_ctoken_is(tokens, i + 3, "/") || kl_ctoken_is(tokens, i + 3, "*") ? -1 :
											      1;
	}
	return 0;
}

/* Classify, like thread_in(), the value that the function gives to the variable at token `i`. */
static int thread_of(const struct kl_ctokens *tokens, size_t i)
{
	int fn = tokens->t[i].fn;
	size_t first = tokens->fn[fn].first + NEAR > i ? tokens->fn[fn].first : i - NEAR;

	for (size_t k = first; k < i; k++)
		if (kl_shape_same(tokens, k, i) && kl_ctoken_is(tokens, k + 1, "=") &&
		    !kl_ctoken_is(tokens, k + 2, "=")) {
			size_t end = k + 2;

			while (end < i && !kl_shape_one_of(tokens, end, "; ,"))
				end++;
			return thread_in(tokens, k + 2, end);
		}
	return 0;
}

/* Classify, like thread_in(), the subscript "[a * n + b]" by its last term, b. */
static int last_part(const struct kl_ctokens *tokens, size_t open)
{
	size_t close = (size_t)tokens->t[open].match, first = open + 1;
	int sign;

	for (size_t i = open + 1; i < close; i++) {
		if (kl_ctoken_is(tokens, i, "+"))
			first = i + 1;
		if (tokens->t[i].match > (int)i)
			i = (size_t)tokens->t[i].match;
	}
	for (size_t i = first; i < close; i++)
		if (kl_ctoken_is(tokens, i, "*"))
			return 0;
	if ((sign = thread_in(tokens, first, close)))
		return sign;
	return first + 1 == close && tokens->t[first].kind == KL_CT_IDENT ?
		       thread_of(tokens, first) :
		       0;
}

void kl_shape_count_threads(struct kl_shape_reader *reader, const struct kl_shape_source *source)
{
	const struct kl_ctokens *tokens = &source->tokens;

	count_arrays(reader, source);
	for (size_t i = 1; i < tokens->n; i++) {
		const struct kl_shape_array *array;
		struct kl_shape_assignment one;
		int sign;

		reader->out->count[KL_SHAPE_THREADS] += kl_ctoken_is(tokens, i, "threadIdx");
		if (tokens->t[i].fn < 0)
			continue;
		/* outside of innermost loops, count each assignment to shared memory */
		if (kl_nest_at(&source->nest, i) < 0 ||
		    source->nest.v[kl_nest_at(&source->nest, i)].inside)
			if (kl_shape_assignment(&one, reader, source, i) && one.array &&
			    one.array->shared)
				reader->out->count[KL_SHAPE_STAGES]++;
		if (!kl_ctoken_is(tokens, i, "[") || tokens->t[i].match < (int)i ||
		    tokens->t[i - 1].kind != KL_CT_IDENT)
			continue;
		array = kl_shape_array_at(source, i - 1);
		sign = array ? 0 : last_part(tokens, i);
		reader->out->count[KL_SHAPE_COALESCED] += sign > 0;
		reader->out->count[KL_SHAPE_STRIDED] += sign < 0;
	}
}
