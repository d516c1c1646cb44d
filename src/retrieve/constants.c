/* SPDX-License-Identifier: Apache-2.0 */
#include "retrieve/constants.h"

#include <ctype.h>
#include <string.h>

#include "base/error.h"
#include "base/map.h"
#include "contract/launch.h"
#include "plan/plan.h"
#include "rewrite/source/ctoken.h"

#define MAX_NAME 63
#define MAX_QUALIFIERS 8 /* most words accepted between `const` and the name */

struct reader {
	struct kl_card_dims *out;
	struct kl_map seen;
};

static void take_constant(struct reader *reader, const char *name, size_t len, int64_t value)
{
	KL_AUTO(kl_freep) char *key = kl_strndup(name, len);

	if (len > MAX_NAME || reader->out->n >= KL_CONSTANTS_MAX || kl_map_get(&reader->seen, key))
		return;
	kl_map_put(&reader->seen, key, reader);
	kl_card_dims_add(reader->out, key, value);
}

/*
 * Read a number such as 128, 128u or 128UL. Return false for other forms (0x80, 010, 1.5) and for
 * numbers that overflow.
 */
static bool read_number(int64_t *out, const struct kl_ctokens *tokens, size_t i)
{
	const char *text = tokens->text + tokens->t[i].off;
	size_t n = tokens->t[i].len, k = 0;
	int64_t value = 0;

	if (tokens->t[i].kind != KL_CT_NUMBER ||
	    (*text == '0' && n > 1 && !strchr("uUlL", text[1])))
		return false;
	for (; k < n && isdigit((unsigned char)text[k]); k++)
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, text[k] - '0', &value))
			return false;
	for (; k < n; k++)
		if (!strchr("uUlL", text[k]))
			return false;
	*out = value;
	return true;
}

/*
 * Read a number with an optional minus sign. Return the number of tokens read, or 0 if there is no
 * number.
 */
static size_t read_literal(int64_t *out, const struct kl_ctokens *tokens, size_t i)
{
	bool minus = kl_ctoken_is(tokens, i, "-");

	if (i + minus >= tokens->n || !read_number(out, tokens, i + minus))
		return 0;
	if (minus)
		*out = -*out;
	return 1 + minus;
}

static void take_token(struct reader *reader, const struct kl_ctokens *tokens, size_t i,
		       int64_t value)
{
	take_constant(reader, tokens->text + tokens->t[i].off, tokens->t[i].len, value);
}

/* Read "#define BM 128". Only a comment may follow on the same line. */
static void scan_define(struct reader *reader, const struct kl_ctokens *tokens, size_t i)
{
	KL_AUTO(kl_ctokens_release) struct kl_ctokens line = { 0 };
	int64_t value;

	kl_ctoken_lex(&line, tokens->text + tokens->t[i].off + 1, tokens->t[i].len - 1);
	if (line.n > 2 && kl_ctoken_is(&line, 0, "define") && line.t[1].kind == KL_CT_IDENT &&
	    read_literal(&value, &line, 2) == line.n - 2)
		take_token(reader, &line, 1, value);
}

/*
 * Read "const int MR = 6;" outside of functions. If a declaration has several names, only the first
 * is read.
 */
static void scan_const(struct reader *reader, const struct kl_ctokens *tokens, size_t i)
{
	size_t k = i + 1, used;
	int64_t value;

	while (k < tokens->n && k < i + MAX_QUALIFIERS && tokens->t[k].kind == KL_CT_IDENT &&
	       !kl_ctoken_is(tokens, k + 1, "="))
		k++;
	if (k + 2 >= tokens->n || tokens->t[k].kind != KL_CT_IDENT ||
	    !kl_ctoken_is(tokens, k + 1, "="))
		return;
	used = read_literal(&value, tokens, k + 2);
	if (used &&
	    (kl_ctoken_is(tokens, k + 2 + used, ";") || kl_ctoken_is(tokens, k + 2 + used, ",")))
		take_token(reader, tokens, k, value);
}

/* Read "enum tile { MR = 6, NR = 16 }". */
static void scan_enum(struct reader *reader, const struct kl_ctokens *tokens, size_t i)
{
	size_t open = i + 1, end;
	int64_t value;

	while (open < tokens->n && open < i + MAX_QUALIFIERS && tokens->t[open].kind != KL_CT_PUNCT)
		open++;
	if (!kl_ctoken_is(tokens, open, "{") || tokens->t[open].match < 0)
		return;
	end = (size_t)tokens->t[open].match;
	for (size_t k = open + 1; k + 2 < end; k++) {
		size_t used = tokens->t[k].kind == KL_CT_IDENT && kl_ctoken_is(tokens, k + 1, "=") ?
				      read_literal(&value, tokens, k + 2) :
				      0;

		if (used && (k + 2 + used == end || kl_ctoken_is(tokens, k + 2 + used, ",")))
			take_token(reader, tokens, k, value);
	}
}

static void scan_file(struct reader *reader, const struct kl_file *file)
{
	KL_AUTO(kl_ctokens_release) struct kl_ctokens tokens = { 0 };

	kl_ctoken_lex(&tokens, file->data, file->len);
	for (size_t i = 0; i < tokens.n; i++) {
		if (tokens.t[i].kind == KL_CT_DIRECTIVE)
			scan_define(reader, &tokens, i);
		else if (tokens.t[i].kind != KL_CT_IDENT)
			continue;
		else if (kl_ctoken_is(&tokens, i, "enum"))
			scan_enum(reader, &tokens, i);
		else if (tokens.t[i].fn < 0 && (kl_ctoken_is(&tokens, i, "const") ||
						kl_ctoken_is(&tokens, i, "constexpr")))
			scan_const(reader, &tokens, i);
	}
}

/*
 * Read the constants of the launch plan. Ignore an invalid plan here, because the gate reports it.
 */
static void read_plan(struct reader *reader, const struct kl_surface *surface)
{
	KL_AUTO(kl_launch_freep) struct kl_launch *launch = NULL;
	const struct kl_plan_compile *compile;

	if (kl_launch_read(&launch, surface, false, NULL) < 0) {
		kl_error_clear();
		return;
	}
	compile = kl_plan_compile(launch->plan);
	for (size_t i = 0; compile && i < compile->ndefine; i++)
		take_constant(reader, compile->define[i].name, strlen(compile->define[i].name),
			      compile->define[i].value);
}

void kl_constants_read(struct kl_card_dims *out, const struct kl_surface *surface)
{
	struct reader reader = { .out = out, .seen = KL_MAP_INIT };

	for (size_t i = 0; i < surface->nfile; i++)
		if (kl_suffix_in(surface->file[i].path, surface->contract->language->texts))
			scan_file(&reader, &surface->file[i]);
	if (surface->contract->launch)
		read_plan(&reader, surface);
	kl_map_release(&reader.seen);
}

void kl_constants_release(struct kl_card_dims *dims)
{
	for (size_t i = 0; i < dims->n; i++)
		free(dims->v[i].name);
	free(dims->v);
	*dims = (struct kl_card_dims){ 0 };
}
