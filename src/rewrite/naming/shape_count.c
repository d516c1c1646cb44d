/* SPDX-License-Identifier: Apache-2.0 */
/* shape_count - counts the constructs in the loops of a source, for shape */
#include <stdlib.h>
#include <string.h>

#include "rewrite/naming/shape_parts.h"

#define MAX_UNROLL 16 /* largest step of an unrolled loop; a larger step runs over blocks */
#define MOST_SUMS 1000

static void raise_to(struct kl_shape_reader *reader, enum kl_shape_item item, long value)
{
	if (reader->out->count[item] < value)
		reader->out->count[item] = value;
}

/* Check that tokens first ... last call a function that has loops. */
static bool calls_loops(const struct kl_shape_reader *reader, const struct kl_ctokens *tokens,
			size_t first, size_t last)
{
	for (size_t i = first; i < last; i++) {
		KL_AUTO(kl_freep) char *name = NULL;

		if (tokens->t[i].kind != KL_CT_IDENT || !kl_ctoken_is(tokens, i + 1, "("))
			continue;
		name = kl_shape_text(tokens, i, i + 1);
		if (kl_strvec_has(&reader->looped, name))
			return true;
	}
	return false;
}

static long step_of(const struct kl_shape_reader *reader, const struct kl_ctokens *tokens,
		    const struct kl_nest_loop *loop)
{
	KL_AUTO(kl_freep) char *name = NULL;
	const char *value;

	if (loop->step || loop->step_at < 0)
		return loop->step;
	name = kl_shape_text(tokens, (size_t)loop->step_at, (size_t)loop->step_at + 1);
	value = kl_map_get(&reader->constants, name);
	return value ? strtol(value, NULL, 0) : 0;
}

/* Check that an inner loop begins or ends at the counter or the step of the loop over blocks. */
static bool bounds_inside(const struct kl_shape_source *source, const struct kl_nest_loop *loop)
{
	const struct kl_ctokens *tokens = &source->tokens;

	for (size_t k = 0; k < source->nest.n; k++) {
		const struct kl_nest_loop *inner = &source->nest.v[k];

		if (inner->head <= loop->head || inner->head > loop->last)
			continue;
		for (size_t i = inner->open; i < inner->cond_end; i++)
			if (kl_shape_same(tokens, i, (size_t)loop->counter) ||
			    (kl_shape_same(tokens, i, (size_t)loop->step_at) &&
			     tokens->t[i].kind != KL_CT_PUNCT))
				return true;
	}
	return false;
}

/* Check for "min(k - p, STEP)" or "k - p < STEP ? k - p : STEP" in the body. */
static bool cuts_block(const struct kl_shape_source *source, const struct kl_nest_loop *loop)
{
	const struct kl_ctokens *tokens = &source->tokens;

	for (size_t i = loop->first; i < loop->last; i++) {
		if (tokens->t[i].kind != KL_CT_IDENT ||
		    !kl_shape_one_of(tokens, i, "min MIN fmin imin std min_int") ||
		    !kl_ctoken_is(tokens, i + 1, "("))
			continue;
		for (size_t k = i + 2; (int)k < tokens->t[i + 1].match; k++)
			if (kl_shape_same(tokens, k, (size_t)loop->step_at))
				return true;
	}
	for (size_t i = loop->first; i < loop->last; i++)
		if (kl_ctoken_is(tokens, i, "?"))
			for (size_t k = i; k < i + 12 && k < loop->last; k++)
				if (kl_shape_same(tokens, k, (size_t)loop->step_at))
					return true;
	return false;
}

static bool is_block(const struct kl_shape_reader *reader, const struct kl_shape_source *source,
		     const struct kl_nest_loop *loop, bool around)
{
	long step = step_of(reader, &source->tokens, loop);

	if (!around || loop->step_at < 0 || loop->counter < 0 || step == 1)
		return false;
	return bounds_inside(source, loop) || cuts_block(source, loop) || step > MAX_UNROLL;
}

/* --- one innermost loop --- */

/* What the statements of an innermost loop do. */
struct body {
	struct kl_strvec scalars, places;
	long tile; /* elements of local arrays that the loop adds to */
	bool copies, stages;
};

static void body_release(struct body *body)
{
	kl_strvec_release(&body->scalars);
	kl_strvec_release(&body->places);
}

/* Check that the value is only a place in memory, so that the assignment is a copy. */
static bool is_load(bool *from_shared, const struct kl_shape_reader *reader,
		    const struct kl_shape_source *source, const struct kl_shape_assignment *one)
{
	const struct kl_shape_array *array;
	size_t at = one->value, n;

	if (kl_ctoken_is(&source->tokens, at, "(") && source->tokens.t[at].match > (int)at &&
	    (size_t)source->tokens.t[at].match + 1 < one->value_end)
		at = (size_t)source->tokens.t[at].match + 1; /* a cast */
	n = kl_shape_place(reader, source, at);
	array = n && source->tokens.t[at].kind == KL_CT_IDENT ? kl_shape_array_at(source, at) :
								NULL;
	/* elements that move within one array are sorted, not packed */
	if (n && source->tokens.t[at].kind == KL_CT_IDENT &&
	    kl_shape_same(&source->tokens, at, one->place))
		return false;
	*from_shared = array && array->shared;
	/* a local array that is copied to memory holds the result */
	return n && at + n == one->value_end && (!array || array->shared || array->fn < 0);
}

/* Check for "p += 4" or "p = p + lda", where p is a pointer. */
static bool is_walk(const struct kl_shape_source *source, const struct kl_shape_assignment *one)
{
	return one->adds && one->place_end == one->place + 1 &&
	       kl_shape_is_pointer(source, one->place);
}

static bool is_one_step(const struct kl_ctokens *tokens, const struct kl_shape_assignment *one)
{
	return one->value_end == one->value + 1 && tokens->t[one->value].kind == KL_CT_NUMBER;
}

static void read_assignment(struct body *body, struct kl_shape_reader *reader,
			    const struct kl_shape_source *source,
			    const struct kl_shape_assignment *one)
{
	KL_AUTO(kl_freep) char *place = kl_shape_text(&source->tokens, one->place, one->place_end);
	bool from_shared = false;

	reader->out->count[KL_SHAPE_ASSIGNMENTS]++;
	if (is_walk(source, one))
		return;
	if (one->adds && one->memory && body->places.n < MOST_SUMS)
		kl_strvec_add_once(&body->places, place);
	else if (one->adds && one->array && !one->array->shared)
		body->tile += one->array->size;
	else if (one->adds && !one->array && !one->memory && body->scalars.n < MOST_SUMS &&
		 !is_one_step(&source->tokens, one))
		kl_strvec_add_once(&body->scalars, place);
	if (one->adds || one->declared || !is_load(&from_shared, reader, source, one))
		return;
	body->stages |= one->array && one->array->shared;
	/* a copy from shared memory to a local array goes to registers */
	body->copies |= one->memory || (one->array && !one->array->shared && !from_shared);
}

/* Count accumulators that the function adds to each other: "sum = s0 + s1". */
static void count_partial(struct kl_shape_reader *reader, const struct kl_shape_source *source,
			  const struct body *body, int fn)
{
	const struct kl_ctokens *tokens = &source->tokens;

	if (fn < 0 || body->scalars.n < 2)
		return;
	for (size_t i = tokens->fn[fn].first; i + 2 < tokens->fn[fn].last; i++) {
		KL_AUTO(kl_freep) char *left = NULL, *right = NULL;

		if (!kl_ctoken_is(tokens, i + 1, "+"))
			continue;
		left = kl_shape_text(tokens, i, i + 1);
		right = kl_shape_text(tokens, i + 2, i + 3);
		if (strcmp(left, right) && kl_strvec_has(&body->scalars, left) &&
		    kl_strvec_has(&body->scalars, right))
			reader->out->count[KL_SHAPE_PARTIAL]++;
	}
}

/* Check for "store(to, load(from))": a copy by vectors. */
static bool is_vector_copy(const struct kl_ctokens *tokens, size_t i)
{
	bool load = false;

	if (tokens->t[i].kind != KL_CT_IDENT || !kl_ctoken_is(tokens, i + 1, "(") ||
	    tokens->t[i + 1].match < 0 ||
	    !memmem(tokens->text + tokens->t[i].off, tokens->t[i].len, "_store", 6))
		return false;
	for (size_t k = i + 2; (int)k < tokens->t[i + 1].match; k++) {
		const char *word = tokens->text + tokens->t[k].off;
		size_t n = tokens->t[k].len;

		if (tokens->t[k].kind != KL_CT_IDENT || !kl_ctoken_is(tokens, k + 1, "("))
			continue;
		if (!memmem(word, n, "_load", 5))
			return false;
		load = true;
	}
	return load;
}

static void count_innermost(struct kl_shape_reader *reader, const struct kl_shape_source *source,
			    const struct kl_nest_loop *loop)
{
	KL_AUTO(body_release) struct body body = { 0 };
	const struct kl_ctokens *tokens = &source->tokens;

	reader->out->count[KL_SHAPE_INNER]++;
	for (size_t i = loop->first; i < loop->last; i++) {
		struct kl_shape_assignment one;
		size_t n = kl_shape_place(reader, source, i);

		if (kl_shape_assignment(&one, reader, source, i))
			read_assignment(&body, reader, source, &one);
		body.copies |= is_vector_copy(tokens, i);
		reader->out->count[KL_SHAPE_ACCESSES] += n > 0;
		if (n && tokens->t[i].kind == KL_CT_PUNCT && kl_ctoken_is(tokens, i + n - 1, "+"))
			reader->out->count[KL_SHAPE_WALKS]++;
	}
	raise_to(reader, KL_SHAPE_ACCUMULATORS, (long)body.scalars.n + body.tile);
	raise_to(reader, KL_SHAPE_MEMORY_SUMS, (long)body.places.n);
	reader->out->count[KL_SHAPE_COPIES] += body.copies && !body.places.n && !body.scalars.n;
	reader->out->count[KL_SHAPE_STAGES] += body.stages;
	count_partial(reader, source, &body, tokens->t[loop->head].fn);
}

/* --- all loops --- */

static void count_loop(struct kl_shape_reader *reader, const struct kl_shape_source *source,
		       const struct kl_nest_loop *loop)
{
	const struct kl_ctokens *tokens = &source->tokens;
	bool around = loop->inside || calls_loops(reader, tokens, loop->first, loop->last);
	long step = step_of(reader, tokens, loop);

	reader->out->count[KL_SHAPE_LOOPS]++;
	if (is_block(reader, source, loop, around))
		reader->out->count[KL_SHAPE_BLOCKS]++;
	else if (around && step > 1)
		reader->out->count[KL_SHAPE_JAMS]++;
	else if (!around && step > 1 && step <= MAX_UNROLL)
		reader->out->count[KL_SHAPE_UNROLLED]++;
	if (!loop->inside)
		count_innermost(reader, source, loop);
}

/* Check for "if (j == 0) pack(...)", which calls once in a loop instead of in each round. */
static bool is_guard(const struct kl_ctokens *tokens, size_t i)
{
	size_t close, call;

	if (!kl_ctoken_is(tokens, i, "if") || !kl_ctoken_is(tokens, i + 1, "(") ||
	    tokens->t[i + 1].match < 0)
		return false;
	close = (size_t)tokens->t[i + 1].match;
	call = close + 1 + kl_ctoken_is(tokens, close + 1, "{");
	if (call + 1 >= tokens->n || tokens->t[call].kind != KL_CT_IDENT ||
	    !kl_ctoken_is(tokens, call + 1, "("))
		return false;
	return close == i + 6 && kl_ctoken_is(tokens, i + 5, "0") &&
	       kl_ctoken_is(tokens, i + 3, "=");
}

static void count_tokens(struct kl_shape_reader *reader, const struct kl_shape_source *source,
			 size_t i)
{
	const struct kl_ctokens *tokens = &source->tokens;

	reader->out->count[KL_SHAPE_GUARDS] += is_guard(tokens, i);
	reader->out->count[KL_SHAPE_BRANCHES] += kl_ctoken_is(tokens, i, "if");
	reader->out->count[KL_SHAPE_DIVISIONS] += kl_ctoken_is(tokens, i, "/") ||
						  kl_ctoken_is(tokens, i, "%");
	reader->out->count[KL_SHAPE_SHIFTS] +=
		(kl_shape_one_of(tokens, i, "< >") && kl_shape_same(tokens, i, i + 1)) ||
		(kl_ctoken_is(tokens, i, "&") && !kl_ctoken_is(tokens, i + 1, "&") && i &&
		 (tokens->t[i - 1].kind == KL_CT_IDENT || kl_shape_one_of(tokens, i - 1, ") ]")));
	reader->out->count[KL_SHAPE_CHOICES] +=
		kl_ctoken_is(tokens, i, "?") ||
		kl_shape_one_of(tokens, i, "fmaxf fminf fmax fmin max min copysignf fabsf fabs");
	/* "n += x < y": the outcome of a comparison is a number */
	reader->out->count[KL_SHAPE_CHOICES] += kl_shape_one_of(tokens, i, "< >") && i > 3 &&
						(kl_ctoken_is(tokens, i - 2, "=") ||
						 kl_ctoken_is(tokens, i - 2, "("));
}

/* Count the variables that each function sets to zero: "= 0.0f", "= _mm256_setzero_ps()". */
static void count_zeroed(struct kl_shape_reader *reader, const struct kl_ctokens *tokens)
{
	for (size_t fn = 0; fn < tokens->nfn; fn++) {
		long n = 0;

		for (size_t i = tokens->fn[fn].first; i < tokens->fn[fn].last; i++) {
			const char *word = tokens->text + tokens->t[i].off;
			bool zero = tokens->t[i].kind == KL_CT_NUMBER && !strncmp(word, "0.", 2) &&
				    strspn(word, "0.fF") >= tokens->t[i].len;

			if (i && kl_ctoken_is(tokens, i - 1, "="))
				n += zero || memmem(word, tokens->t[i].len, "setzero", 7) != NULL;
		}
		raise_to(reader, KL_SHAPE_ZEROED, n);
	}
}

void kl_shape_count(struct kl_shape_reader *reader, const struct kl_shape_source *source)
{
	const struct kl_ctokens *tokens = &source->tokens;

	count_zeroed(reader, tokens);
	for (size_t k = 0; k < source->nest.n; k++)
		count_loop(reader, source, &source->nest.v[k]);
	for (size_t i = 0; i + 1 < tokens->n; i++) {
		struct kl_shape_assignment one;
		int at = kl_nest_at(&source->nest, i);

		if (at >= 0)
			count_tokens(reader, source, i);
		if ((at >= 0 && !source->nest.v[at].inside) || tokens->t[i].fn < 0 ||
		    !kl_shape_assignment(&one, reader, source, i) || one.memory || one.array)
			continue;
		for (size_t k = one.value; k < one.value_end; k++)
			if (kl_shape_place(reader, source, k) || kl_ctoken_is(tokens, k, "*")) {
				reader->out->count[KL_SHAPE_HOISTS]++;
				break;
			}
	}
}
