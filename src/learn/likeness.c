/* SPDX-License-Identifier: Apache-2.0 */
#include "learn/likeness.h"

#include <ctype.h>
#include <string.h>

#include "base/buf.h"
#include "rewrite/source/ctoken.h"

#define FEW_LINES 30
#define MOST 900000
#define HALF 500000
#define ONE 1000000
#define MAX_NAMES 64 /* different names of a line that are told apart */

/* --- lines ------------------------------------------------------------------------------------ */

/* The line that is being written. */
struct line {
	struct kl_buf text;
	struct kl_strvec names;
	bool counts; /* it has a name or a number */
};

/* Return true for a word of the language or its libraries, which is part of the structure. */
static bool is_fixed(const char *name, size_t len)
{
	static const char *const word[] = {
		"auto",     "bool",     "break",   "case",     "char",   "const",     "continue",
		"default",  "do",       "double",  "else",     "enum",   "extern",    "float",
		"for",      "goto",     "if",      "inline",   "int",    "long",      "register",
		"restrict", "return",   "short",   "signed",   "sizeof", "static",    "struct",
		"switch",   "template", "typedef", "typename", "union",  "unsigned",  "void",
		"volatile", "while",    "half",    "float2",   "float4", "threadIdx", "blockIdx",
		"blockDim", "gridDim",  "asm",
	};

	if (*name == '_' || (len > 2 && !strncmp(name + len - 2, "_t", 2)))
		return true;
	for (size_t i = 0; i < KL_ARRAY_SIZE(word); i++)
		if (strlen(word[i]) == len && !strncmp(word[i], name, len))
			return true;
	return false;
}

static void add_name(struct line *line, const char *name, size_t len)
{
	KL_AUTO(kl_freep) char *copy = kl_strndup(name, len);
	size_t i;

	line->counts = true;
	if (is_fixed(name, len)) {
		kl_buf_addf(&line->text, " %s", copy);
		return;
	}
	for (i = 0; i < line->names.n && strcmp(line->names.v[i], copy) != 0; i++)
		;
	if (i == line->names.n && i < MAX_NAMES)
		kl_strvec_push(&line->names, copy);
	kl_buf_addf(&line->text, " $%zu", i);
}

static void add_token(struct line *line, const struct kl_ctok *token, const char *text)
{
	const char *at = text + token->off;

	if (token->kind == KL_CT_IDENT) {
		add_name(line, at, token->len);
		return;
	}
	if (*at == '{' || *at == '}')
		return; /* where braces stand is a matter of style */
	line->counts |= token->kind != KL_CT_PUNCT;
	kl_buf_addch(&line->text, ' ');
	for (size_t i = 0; i < token->len; i++)
		if (token->kind != KL_CT_DIRECTIVE || !isspace((unsigned char)at[i]))
			kl_buf_addch(&line->text, at[i]);
}

static void end_line(struct kl_strvec *out, struct line *line)
{
	if (line->counts)
		kl_strvec_push(out, line->text.ptr);
	kl_buf_clear(&line->text);
	kl_strvec_release(&line->names);
	line->counts = false;
}

static void add_lines(struct kl_strvec *out, const char *text, size_t len)
{
	struct kl_ctokens tokens = { 0 };
	struct line line = { .text = KL_BUF_INIT, .names = KL_STRVEC_INIT };

	kl_ctoken_lex(&tokens, text, len);
	for (size_t i = 0; i < tokens.n; i++) {
		if (i && tokens.t[i].line != tokens.t[i - 1].line)
			end_line(out, &line);
		add_token(&line, &tokens.t[i], text);
	}
	end_line(out, &line);
	kl_buf_release(&line.text);
	kl_ctokens_release(&tokens);
}

void kl_likeness_lines(struct kl_strvec *out, const struct kl_surface *surface)
{
	for (size_t i = 0; i < surface->nfile; i++)
		add_lines(out, surface->file[i].data, surface->file[i].len);
	kl_strvec_sort(out);
}

void kl_likeness_diff_lines(struct kl_strvec *out, const char *diff, bool after)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	bool hunk = false;

	for (const char *line = diff; *line;) {
		size_t len = strcspn(line, "\n");

		if (!strncmp(line, "@@", 2) || !strncmp(line, "diff ", 5))
			hunk = *line == '@';
		else if (hunk && (*line == ' ' || *line == (after ? '+' : '-')))
			kl_buf_addf(&text, "%.*s\n", (int)len - 1, line + 1);
		line += len + (line[len] == '\n');
	}
	add_lines(out, text.ptr, text.len);
	kl_strvec_sort(out);
}

/* --- comparing -------------------------------------------------------------------------------- */

size_t kl_likeness_common(const struct kl_strvec *left, const struct kl_strvec *right)
{
	size_t n = 0;

	for (size_t i = 0, k = 0; i < left->n && k < right->n;) {
		int order = strcmp(left->v[i], right->v[k]);

		n += !order;
		i += order <= 0;
		k += order >= 0;
	}
	return n;
}

void kl_likeness_compare(struct kl_likeness *out, const struct kl_strvec *left,
			 const struct kl_strvec *right)
{
	int64_t most = (int64_t)(left->n > right->n ? left->n : right->n);
	int64_t common = (int64_t)kl_likeness_common(left, right);

	out->changed = most - common;
	out->alike = most ? common * ONE / most : ONE;
}

bool kl_likeness_is_same(const struct kl_likeness *likeness)
{
	return likeness->alike > MOST || (likeness->alike >= HALF && likeness->changed < FEW_LINES);
}
