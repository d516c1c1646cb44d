/* SPDX-License-Identifier: Apache-2.0 */
/* shape_declare - the macros, arrays and functions of sources, for shape */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "rewrite/naming/shape_parts.h"

#define MAX_ROUNDS 8    /* maximum number of calls in a chain that are followed to a loop */
#define MAX_LOOPED 1000 /* maximum number of functions with loops */
#define UNKNOWN 8       /* assumed value of an unknown name in an extent */
#define MAX_EXTENT (1L << 20)
#define FEW_VALUES 4 /* an initializer with more commas makes a table */

/* Read "#define NAME 16" or "#define A(i,j) a[(i)+(j)*lda]". */
static void read_define(struct kl_shape_reader *reader, const struct kl_ctokens *tokens, size_t i)
{
	KL_AUTO(kl_freep) char *name = NULL, *body = NULL;
	struct kl_cdefine macro;
	const char *value;

	if (!kl_ctoken_define(&macro, tokens, i))
		return;
	name = kl_strndup(tokens->text + macro.name, macro.name_len);
	body = kl_strndup(tokens->text + macro.body, macro.end - macro.body);
	if (*body == '(') {
		if (strchr(body, '['))
			kl_strvec_add_once(&reader->macros, name);
		return;
	}
	value = body + strspn(body, " \t(");
	if (isdigit((unsigned char)*value))
		kl_map_put(&reader->constants, name,
			   kl_strndup(value, strcspn(value, " \t\r\n)/")));
}

/* Return the value of a number, or of a macro that stands for one; 0 if unknown. */
static long value_of(const struct kl_shape_reader *reader, const struct kl_ctokens *tokens,
		     size_t i)
{
	KL_AUTO(kl_freep) char *text = kl_shape_text(tokens, i, i + 1);
	const char *value = tokens->t[i].kind == KL_CT_NUMBER ?
				    text :
				    kl_map_get(&reader->constants, text);

	return value ? strtol(value, NULL, 0) : 0;
}

/* Estimate the extent in tokens first ... end - 1: "16", "TM * TN". */
static long estimate_extent(const struct kl_shape_reader *reader, const struct kl_ctokens *tokens,
			    size_t first, size_t end)
{
	long extent = 1;
	bool known = true;

	for (size_t i = first; i < end; i++) {
		long value = value_of(reader, tokens, i);

		if (kl_ctoken_is(tokens, i, "+") || kl_ctoken_is(tokens, i, "-")) {
			i++; /* a padding does not count */
		} else if (tokens->t[i].kind == KL_CT_IDENT || tokens->t[i].kind == KL_CT_NUMBER) {
			known &= value > 0;
			extent *= value > 0 ? value : UNKNOWN;
		}
		if (extent > MAX_EXTENT)
			return MAX_EXTENT;
	}
	return known || extent < UNKNOWN * UNKNOWN ? extent : UNKNOWN * UNKNOWN;
}

static bool is_few(long value)
{
	return value >= 2 && value <= 4;
}

/*
 * Return true if the first extent, which begins at token `i`, counts stages: "[2][ROWS]", or
 * "[2 * ROWS * COLUMNS]" for stages that follow one another in one array.
 */
static bool has_stages(const struct kl_shape_reader *reader, const struct kl_ctokens *tokens,
		       size_t i)
{
	size_t close = (size_t)tokens->t[i].match;

	if (!is_few(value_of(reader, tokens, i + 1)))
		return false;
	if (close == i + 2)
		return kl_ctoken_is(tokens, close + 1, "[");
	return kl_ctoken_is(tokens, i + 2, "*") && kl_ctoken_is(tokens, i + 4, "*");
}

/*
 * Multiply the extents "[4][8 + 1]" that begin at token `i`, and note padding and several stages.
 * Return the token after them.
 */
static size_t read_extents(struct kl_shape_array *array, const struct kl_shape_reader *reader,
			   const struct kl_ctokens *tokens, size_t i)
{
	size_t part = 0;

	array->size = 1;
	while (kl_ctoken_is(tokens, i, "[") && tokens->t[i].match > (int)i) {
		size_t close = (size_t)tokens->t[i].match;
		long extent = estimate_extent(reader, tokens, i + 1, close);

		for (size_t k = i + 1; k < close; k++)
			array->padded |= kl_ctoken_is(tokens, k, "+");
		if (!part++)
			array->doubled = has_stages(reader, tokens, i);
		array->size = array->size > MAX_EXTENT / extent ? MAX_EXTENT : array->size * extent;
		i = close + 1;
	}
	return i;
}

/* Find the first token of the declaration that contains token `i`. */
static size_t start_of(const struct kl_ctokens *tokens, size_t i)
{
	while (i && !kl_shape_one_of(tokens, i - 1, "; { } ) (") &&
	       tokens->t[i - 1].kind != KL_CT_DIRECTIVE)
		i--;
	return i;
}

static void read_array(struct kl_shape_reader *reader, struct kl_shape_source *source, size_t i)
{
	const struct kl_ctokens *tokens = &source->tokens;
	struct kl_shape_array array = { .name = i, .fn = tokens->t[i].fn };
	size_t start = start_of(tokens, i), end;

	if (start == i || kl_shape_one_of(tokens, start, "return goto case else typedef") ||
	    (start && kl_ctoken_is(tokens, start - 1, "(")))
		return;
	for (size_t k = start; k < i; k++) {
		array.shared |= kl_ctoken_is(tokens, k, "__shared__");
		array.is_static |= kl_ctoken_is(tokens, k, "static");
		array.constant |= kl_shape_one_of(tokens, k, "const __constant__ constexpr");
		if (kl_ctoken_is(tokens, k, "="))
			return;
	}
	end = read_extents(&array, reader, tokens, i + 1);
	if (!kl_shape_one_of(tokens, end, "; , = __attribute__"))
		return;
	if (kl_ctoken_is(tokens, end, "=") && kl_ctoken_is(tokens, end + 1, "{")) {
		size_t commas = 0;

		for (size_t k = end + 1; (int)k < tokens->t[end + 1].match; k++)
			commas += kl_ctoken_is(tokens, k, ",");
		array.valued = commas > FEW_VALUES;
	}
	KL_GROW(source->array, source->narray + 1, source->alloc);
	source->array[source->narray++] = array;
}

/* Read "enum { MR = 6, NR = 16 }". */
static void read_enums(struct kl_shape_reader *reader, const struct kl_ctokens *tokens)
{
	for (size_t i = 0; i + 2 < tokens->n; i++) {
		size_t open = i + 1 + (tokens->t[i + 1].kind == KL_CT_IDENT);

		if (!kl_ctoken_is(tokens, i, "enum") || !kl_ctoken_is(tokens, open, "{"))
			continue;
		for (size_t k = open + 1; (int)k + 2 < tokens->t[open].match; k++)
			if (tokens->t[k].kind == KL_CT_IDENT && kl_ctoken_is(tokens, k + 1, "=") &&
			    tokens->t[k + 2].kind == KL_CT_NUMBER) {
				KL_AUTO(kl_freep) char *name = kl_shape_text(tokens, k, k + 1);

				kl_map_put(&reader->constants, name,
					   kl_shape_text(tokens, k + 2, k + 3));
			}
	}
}

static void add_looped(struct kl_shape_reader *reader, const struct kl_ctokens *tokens, size_t i)
{
	KL_AUTO(kl_freep) char *name = kl_ctoken_function(tokens, i);

	if (*name && reader->looped.n < MAX_LOOPED)
		kl_strvec_add_once(&reader->looped, name);
}

/* Find the functions that have loops, and those that call such functions. */
static void find_looped(struct kl_shape_reader *reader)
{
	size_t before;
	int rounds = 0;

	for (size_t i = 0; i < reader->n; i++)
		for (size_t k = 0; k < reader->source[i].nest.n; k++)
			add_looped(reader, &reader->source[i].tokens,
				   reader->source[i].nest.v[k].head);
	do {
		before = reader->looped.n;
		for (size_t i = 0; i < reader->n; i++) {
			const struct kl_ctokens *tokens = &reader->source[i].tokens;

			for (size_t k = 0; k + 1 < tokens->n; k++) {
				KL_AUTO(kl_freep) char *name = NULL;

				if (tokens->t[k].kind != KL_CT_IDENT || tokens->t[k].fn < 0 ||
				    !kl_ctoken_is(tokens, k + 1, "("))
					continue;
				name = kl_shape_text(tokens, k, k + 1);
				if (kl_strvec_has(&reader->looped, name))
					add_looped(reader, tokens, k);
			}
		}
	} while (reader->looped.n > before && ++rounds < MAX_ROUNDS);
}

void kl_shape_declare(struct kl_shape_reader *reader)
{
	for (size_t i = 0; i < reader->n; i++) {
		const struct kl_ctokens *tokens = &reader->source[i].tokens;

		for (size_t k = 0; k < tokens->n; k++)
			if (tokens->t[k].kind == KL_CT_DIRECTIVE)
				read_define(reader, tokens, k);
	}
	for (size_t i = 0; i < reader->n; i++)
		read_enums(reader, &reader->source[i].tokens);
	find_looped(reader);
	for (size_t i = 0; i < reader->n; i++) {
		struct kl_shape_source *source = &reader->source[i];

		for (size_t k = 1; k + 2 < source->tokens.n; k++)
			if (source->tokens.t[k].kind == KL_CT_IDENT &&
			    source->tokens.t[k - 1].kind == KL_CT_IDENT &&
			    kl_ctoken_is(&source->tokens, k + 1, "["))
				read_array(reader, source, k);
	}
}

const struct kl_shape_array *kl_shape_array_at(const struct kl_shape_source *source, size_t i)
{
	int fn = source->tokens.t[i].fn;

	for (size_t k = source->narray; k-- > 0;)
		if ((source->array[k].fn == fn || source->array[k].fn < 0) &&
		    kl_shape_same(&source->tokens, source->array[k].name, i))
			return &source->array[k];
	return NULL;
}
