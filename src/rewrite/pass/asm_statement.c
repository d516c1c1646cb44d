/* SPDX-License-Identifier: Apache-2.0 */
#include "rewrite/pass/asm_statement.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/prefix.h"
#include "base/vec.h"

#define MAX_EXPANSIONS 256
#define MAX_TEXT (64u << 10)

void kl_asm_release(struct kl_asm *statement)
{
	for (size_t i = 0; i < statement->n; i++) {
		free(statement->operand[i].constraint);
		free(statement->operand[i].value);
	}
	free(statement->text);
	statement->text = NULL;
	statement->n = 0;
}

void kl_asm_arguments_release(struct kl_asm_arguments *arguments)
{
	for (size_t i = 0; i < arguments->n; i++)
		free(arguments->v[i]);
	arguments->n = 0;
}

/* Append bytes from ... to - 1 of `text`, with white space at both ends removed. Caller frees. */
static char *trimmed(const char *text, size_t from, size_t to)
{
	while (from < to && isspace((unsigned char)text[from]))
		from++;
	while (to > from && isspace((unsigned char)text[to - 1]))
		to--;
	return kl_strndup(text + from, to - from);
}

/* Return the end of the argument at token `i`, which is a ',' or the token `end`. */
static size_t argument_end(const struct kl_ctokens *tokens, size_t i, size_t end)
{
	while (i < end && !kl_ctoken_is(tokens, i, ","))
		i = tokens->t[i].match > (int)i ? (size_t)tokens->t[i].match + 1 : i + 1;
	return i < end ? i : end;
}

/* A file and the macros with arguments that it defines. */
struct source {
	const struct kl_ctokens *tokens;
	const struct kl_map *macros;
};

/* --- macros ----------------------------------------------------------------------------------- */

void kl_asm_macros(struct kl_map *out, const struct kl_ctokens *tokens)
{
	for (size_t i = 0; i < tokens->n; i++) {
		KL_AUTO(kl_freep) char *name = NULL;
		struct kl_cdefine macro;

		if (tokens->t[i].kind != KL_CT_DIRECTIVE || !kl_ctoken_define(&macro, tokens, i) ||
		    macro.body == macro.end || tokens->text[macro.body] != '(')
			continue;
		name = kl_strndup(tokens->text + macro.name, macro.name_len);
		kl_map_put(out, name, &tokens->t[i]);
	}
}

/* Find the macro with arguments that token `i` of `use` names. */
static bool find_macro(struct kl_cdefine *macro, const struct source *source,
		       const struct kl_ctokens *use, size_t i)
{
	KL_AUTO(kl_freep) char *name = kl_strndup(use->text + use->t[i].off, use->t[i].len);
	const struct kl_ctok *token = kl_map_get(source->macros, name);

	return token && kl_ctoken_define(macro, source->tokens, token - source->tokens->t);
}

/* Append the body of a macro with its parameters replaced by the arguments from `open` on. */
static bool add_body(struct kl_buf *out, const struct kl_ctokens *define,
		     const struct kl_cdefine *macro, const struct kl_ctokens *use, size_t open)
{
	KL_AUTO(kl_ctokens_release) struct kl_ctokens body = { 0 };
	KL_AUTO(kl_cedits_release) struct kl_cedits edits = { 0 };
	size_t at = open + 1, end = (size_t)use->t[open].match, last;

	kl_ctoken_lex(&body, define->text + macro->body, macro->end - macro->body);
	if (!body.n || body.t[0].match < 1)
		return false;
	last = (size_t)body.t[0].match;
	for (size_t i = 0; i < body.n; i++)
		if (kl_ctoken_is(&body, i, "#") || kl_ctoken_is(&body, i, "\\"))
			return false;
	for (size_t param = 1; param < last; param += 2) {
		size_t stop = argument_end(use, at, end);
		KL_AUTO(kl_freep) char *name = NULL;
		KL_AUTO(kl_freep) char *value = NULL;

		if (at >= end || body.t[param].kind != KL_CT_IDENT)
			return false;
		name = kl_strndup(body.text + body.t[param].off, body.t[param].len);
		value = trimmed(use->text, use->t[at].off, use->t[stop].off);
		for (size_t i = last + 1; i < body.n; i++)
			if (kl_ctoken_is(&body, i, name))
				kl_cedits_tokens(&edits, &body, i, i, value, 0);
		at = stop + 1;
	}
	for (size_t i = 0; i <= last; i++)
		kl_cedits_tokens(&edits, &body, i, i, "", 0);
	kl_cedits_apply(out, &body, &edits, NULL, NULL);
	return at > end;
}

/*
 * Replace the first use of a macro in `text`. Return 1 if there was one, 0 if there was none, -1 if
 * its form is not known or the text gets too long.
 */
static int expand_once(char **text, const struct source *source)
{
	KL_AUTO(kl_ctokens_release) struct kl_ctokens use = { 0 };

	kl_ctoken_lex(&use, *text, strlen(*text));
	for (size_t i = 0; i + 1 < use.n; i++) {
		KL_AUTO(kl_buf_release) struct kl_buf whole = KL_BUF_INIT;
		KL_AUTO(kl_buf_release) struct kl_buf body = KL_BUF_INIT;
		struct kl_cdefine macro;
		size_t close;

		if (use.t[i].kind != KL_CT_IDENT || !kl_ctoken_is(&use, i + 1, "(") ||
		    use.t[i + 1].match < 0 || !find_macro(&macro, source, &use, i))
			continue;
		close = (size_t)use.t[i + 1].match;
		if (!add_body(&body, source->tokens, &macro, &use, i + 1))
			return -1;
		kl_buf_add(&whole, use.text, use.t[i].off);
		kl_buf_add(&whole, body.ptr, body.len);
		kl_buf_adds(&whole, use.text + use.t[close].off + 1);
		if (whole.len > MAX_TEXT)
			return -1;
		free(*text);
		*text = kl_buf_detach(&whole);
		return 1;
	}
	return 0;
}

static bool expand(char **text, const struct source *source)
{
	int more = 1;

	for (int i = 0; i < MAX_EXPANSIONS && more > 0; i++)
		more = expand_once(text, source);
	return !more;
}

/* --- a statement ------------------------------------------------------------------------------- */

/* Append a string of instructions; an escape is white space. */
static void add_string(struct kl_buf *out, const char *text, size_t n)
{
	for (size_t i = 1; i + 1 < n; i++) {
		bool escape = text[i] == '\\';

		i += escape;
		if (escape || isspace((unsigned char)text[i])) {
			if (out->len && out->ptr[out->len - 1] != ' ')
				kl_buf_addch(out, ' ');
		} else {
			kl_buf_addch(out, text[i]);
		}
	}
}

/* Read `"r"(x), "=f"(y)` at tokens i ... end - 1. */
static bool read_operands(struct kl_asm *out, const struct kl_ctokens *tokens, size_t i, size_t end)
{
	while (i < end) {
		struct kl_asm_operand *operand = &out->operand[out->n];
		size_t close;

		if (tokens->t[i].kind != KL_CT_STRING || !kl_ctoken_is(tokens, i + 1, "(") ||
		    tokens->t[i + 1].match < 0 || out->n == KL_ASM_OPERANDS)
			return false;
		close = (size_t)tokens->t[i + 1].match;
		operand->constraint = kl_strndup(tokens->text + tokens->t[i].off + 1,
						 tokens->t[i].len - 2);
		operand->value = trimmed(tokens->text, tokens->t[i + 1].off + 1,
					 tokens->t[close].off);
		out->n++;
		if (close + 1 < end && !kl_ctoken_is(tokens, close + 1, ","))
			return false;
		i = close + 2;
	}
	return true;
}

/* Read the parts of a statement that ':' separates: outputs and inputs; the clobbers are skipped. */
static bool read_parts(struct kl_asm *out, const char *text)
{
	KL_AUTO(kl_ctokens_release) struct kl_ctokens parts = { 0 };
	size_t at = 0;

	kl_ctoken_lex(&parts, text, strlen(text));
	for (int part = 0; part < 2 && at < parts.n; part++) {
		size_t end = at + 1;

		if (!kl_ctoken_is(&parts, at, ":"))
			return false;
		while (end < parts.n && !kl_ctoken_is(&parts, end, ":"))
			end = parts.t[end].match > (int)end ? (size_t)parts.t[end].match + 1 :
							      end + 1;
		if (!read_operands(out, &parts, at + 1, end))
			return false;
		at = end;
	}
	return true;
}

bool kl_asm_read(struct kl_asm *out, const struct kl_ctokens *tokens, const struct kl_map *macros,
		 size_t i)
{
	const struct source source = { tokens, macros };
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(kl_freep) char *rest = NULL;
	size_t at = i + 1, close;

	out->n = 0;
	out->text = NULL;
	if (!kl_ctoken_is(tokens, i, "asm") && !kl_ctoken_is(tokens, i, "__asm__"))
		return false;
	while (kl_ctoken_is(tokens, at, "volatile") || kl_ctoken_is(tokens, at, "__volatile__"))
		at++;
	if (!kl_ctoken_is(tokens, at, "(") || tokens->t[at].match < 0)
		return false;
	close = (size_t)tokens->t[at++].match;
	if (!kl_ctoken_is(tokens, close + 1, ";"))
		return false;
	for (; at < close && tokens->t[at].kind == KL_CT_STRING; at++)
		add_string(&text, tokens->text + tokens->t[at].off, tokens->t[at].len);
	kl_buf_rtrim(&text);
	out->first = i;
	out->last = close + 1;
	out->text = kl_buf_detach(&text);
	if (at == close)
		return true;
	rest = kl_strndup(tokens->text + tokens->t[at].off,
			  tokens->t[close].off - tokens->t[at].off);
	return expand(&rest, &source) && read_parts(out, rest);
}

/* --- instructions ------------------------------------------------------------------------------ */

static bool is_name(char ch)
{
	return isalnum((unsigned char)ch) || strchr("._:", ch);
}

/* Read arguments that are separated by commas, up to the ';' or the end of the text. */
static bool read_arguments(struct kl_asm_arguments *out, const char *text)
{
	int depth = 0;
	size_t from = 0, at = 0;

	out->n = 0;
	for (;; at++) {
		char ch = text[at];
		bool ends = !ch || ch == ';' || (ch == '}' && !depth);

		depth += (ch == '[' || ch == '{') - (ch == ']' || (ch == '}' && depth));
		if (!ends && (ch != ',' || depth))
			continue;
		if (out->n == KL_ARRAY_SIZE(out->v))
			return false;
		out->v[out->n++] = trimmed(text, from, at);
		from = at + 1;
		if (ends)
			return !depth;
	}
}

bool kl_asm_find(struct kl_asm_arguments *out, char **whole, const struct kl_asm *statement,
		 const char *name)
{
	const char *at = strstr(statement->text, name);
	size_t n = 0;

	*whole = NULL;
	out->n = 0;
	if (!at || (at > statement->text && is_name(at[-1])) || strstr(at + 1, name))
		return false;
	while (at[n] && is_name(at[n]))
		n++;
	*whole = kl_strndup(at, n);
	return read_arguments(out, at + n);
}

char *kl_asm_value(const struct kl_asm *statement, const char *argument)
{
	char *end;
	unsigned long number;

	if (*argument != '%') {
		if (!isdigit((unsigned char)*argument))
			return NULL;
		(void)strtoul(argument, &end, 0);
		return *end ? NULL : kl_strdup(argument);
	}
	if (!isdigit((unsigned char)argument[1]))
		return NULL;
	number = strtoul(argument + 1, &end, 10);
	return *end || number >= statement->n ? NULL : kl_strdup(statement->operand[number].value);
}

char *kl_asm_address(const struct kl_asm *statement, const char *argument)
{
	KL_AUTO(kl_freep) char *inner = NULL;
	size_t n = strlen(argument);

	if (n < 3 || argument[0] != '[' || argument[n - 1] != ']')
		return NULL;
	inner = trimmed(argument, 1, n - 1);
	return kl_asm_value(statement, inner);
}

char *kl_asm_element(const struct kl_asm *statement, const char *argument, size_t k)
{
	size_t n = strlen(argument), from = 1, to;

	if (n < 3 || argument[0] != '{' || argument[n - 1] != '}')
		return NULL;
	for (;; from = to + 1) {
		KL_AUTO(kl_freep) char *element = NULL;

		to = from + strcspn(argument + from, ",}");
		if (!k--) {
			element = trimmed(argument, from, to);
			return kl_asm_value(statement, element);
		}
		if (argument[to] != ',')
			return NULL;
	}
}
