/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/lexer.h"

#include <ctype.h>
#include <string.h>

#include "base/mem.h"

struct scan {
	const char *text;
	size_t len, pos;
	int line;
	bool line_start; /* only blanks since the last newline */
};

static int peek_char(const struct scan *scan, size_t ahead)
{
	return scan->pos + ahead < scan->len ? (unsigned char)scan->text[scan->pos + ahead] : 0;
}

static bool in_word(int ch)
{
	return isalnum(ch) || ch == '_' || ch == '$' || ch >= 0x80;
}

static void step_char(struct scan *scan)
{
	if (scan->text[scan->pos++] == '\n') {
		scan->line++;
		scan->line_start = true;
	}
}

static void skip_comment(struct scan *scan)
{
	bool block = peek_char(scan, 1) == '*';

	step_char(scan);
	step_char(scan);
	while (scan->pos < scan->len) {
		if (!block && peek_char(scan, 0) == '\n')
			return;
		if (block && peek_char(scan, 0) == '*' && peek_char(scan, 1) == '/') {
			scan->pos += 2;
			return;
		}
		step_char(scan);
	}
}

static size_t skip_blanks(const char *text, size_t n, size_t i)
{
	while (i < n && (text[i] == ' ' || text[i] == '\t'))
		i++;
	return i;
}

/* Return the offset of the text after the directive `word`; 0 if it is another directive. */
static size_t after_word(const char *text, size_t n, const char *word)
{
	size_t i = skip_blanks(text, n, 1), len = strlen(word);

	if (n - i <= len || memcmp(text + i, word, len))
		return 0;
	return skip_blanks(text, n, i + len);
}

static void note_directive(struct kl_tokens *out, const char *text, size_t n)
{
	size_t i = after_word(text, n, "include"), end;

	if (i && i < n && text[i] == '"') {
		for (end = ++i; end < n && text[end] != '"'; end++)
			;
		if (end < n)
			kl_strvec_take(&out->headers, kl_strndup(text + i, end - i));
	}
	i = after_word(text, n, "define");
	if (i && i < n)
		kl_strvec_take(&out->macros, kl_strndup(text + i, n - i));
}

/* Skip a directive to the end of its line, which a backslash or a comment can extend. */
static void skip_directive(struct kl_tokens *out, struct scan *scan)
{
	size_t from = scan->pos;

	while (scan->pos < scan->len && peek_char(scan, 0) != '\n') {
		if (peek_char(scan, 0) == '/' &&
		    (peek_char(scan, 1) == '*' || peek_char(scan, 1) == '/')) {
			skip_comment(scan);
			continue;
		}
		if (peek_char(scan, 0) == '\\' && scan->pos + 1 < scan->len)
			step_char(scan);
		step_char(scan);
	}
	note_directive(out, scan->text + from, scan->pos - from);
}

static void skip_quoted(struct scan *scan)
{
	char quote = scan->text[scan->pos++];

	while (scan->pos < scan->len && peek_char(scan, 0) != quote && peek_char(scan, 0) != '\n') {
		if (peek_char(scan, 0) == '\\' && scan->pos + 1 < scan->len)
			step_char(scan);
		step_char(scan);
	}
	if (peek_char(scan, 0) == quote)
		scan->pos++;
}

/* Return the length of the operator at the current position, at most two (lexer.h). */
static size_t sign_length(const struct scan *scan)
{
	static const char *const two[] = {
		"==", "!=", "<=", ">=", "&&", "||", "++", "--", "->", "+=",
		"-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<", ">>",
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(two); i++)
		if (peek_char(scan, 0) == two[i][0] && peek_char(scan, 1) == two[i][1])
			return 2;
	return 1;
}

static void read_token(struct kl_tokens *out, struct scan *scan)
{
	struct kl_token token = { .s = scan->text + scan->pos, .line = scan->line };
	size_t from = scan->pos;
	int ch = peek_char(scan, 0);

	scan->line_start = false;
	if (ch == '"' || ch == '\'') {
		token.kind = KL_TOKEN_STRING;
		skip_quoted(scan);
	} else if (isdigit(ch)) {
		token.kind = KL_TOKEN_NUMBER;
		while (in_word(peek_char(scan, 0)) || peek_char(scan, 0) == '.')
			scan->pos++;
	} else if (in_word(ch)) {
		token.kind = KL_TOKEN_WORD;
		while (in_word(peek_char(scan, 0)))
			scan->pos++;
	} else {
		token.kind = KL_TOKEN_SIGN;
		scan->pos += sign_length(scan);
	}
	token.n = scan->pos - from;
	KL_GROW(out->t, out->n + 1, out->alloc);
	out->t[out->n++] = token;
}

void kl_lexer_read(struct kl_tokens *out, const char *text, size_t len)
{
	struct scan scan = { .text = text, .len = len, .line = 1, .line_start = true };

	while (scan.pos < scan.len) {
		int ch = peek_char(&scan, 0);

		if (ch == '/' && (peek_char(&scan, 1) == '*' || peek_char(&scan, 1) == '/'))
			skip_comment(&scan);
		else if (ch == '#' && scan.line_start)
			skip_directive(out, &scan);
		else if (ch == '\\' || !ch || isspace(ch))
			step_char(&scan);
		else
			read_token(out, &scan);
	}
}

void kl_tokens_release(struct kl_tokens *tokens)
{
	free(tokens->t);
	kl_strvec_release(&tokens->headers);
	kl_strvec_release(&tokens->macros);
	*tokens = (struct kl_tokens){ 0 };
}

bool kl_token_is(const struct kl_tokens *tokens, size_t i, const char *text)
{
	return i < tokens->n && strlen(text) == tokens->t[i].n &&
	       !memcmp(text, tokens->t[i].s, tokens->t[i].n);
}

bool kl_token_is_any(const struct kl_tokens *tokens, size_t i, const char *const *words)
{
	for (; *words; words++)
		if (kl_token_is(tokens, i, *words))
			return true;
	return false;
}

bool kl_token_same(const struct kl_token *left, const struct kl_token *right)
{
	return left->n == right->n && !memcmp(left->s, right->s, left->n);
}

size_t kl_token_skip(const struct kl_tokens *tokens, size_t i)
{
	size_t depth = 0;

	for (; i < tokens->n; i++) {
		if (kl_token_is(tokens, i, "(") || kl_token_is(tokens, i, "[") ||
		    kl_token_is(tokens, i, "{"))
			depth++;
		else if (kl_token_is(tokens, i, ")") || kl_token_is(tokens, i, "]") ||
			 kl_token_is(tokens, i, "}"))
			if (!--depth)
				return i + 1;
	}
	return tokens->n;
}
