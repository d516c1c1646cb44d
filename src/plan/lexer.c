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

static int peek_char(const struct scan *s, size_t ahead)
{
	return s->pos + ahead < s->len ? (unsigned char)s->text[s->pos + ahead] : 0;
}

static bool in_word(int c)
{
	return isalnum(c) || c == '_' || c == '$' || c >= 0x80;
}

static void step_char(struct scan *s)
{
	if (s->text[s->pos++] == '\n') {
		s->line++;
		s->line_start = true;
	}
}

static void skip_comment(struct scan *s)
{
	bool block = peek_char(s, 1) == '*';

	step_char(s);
	step_char(s);
	while (s->pos < s->len) {
		if (!block && peek_char(s, 0) == '\n')
			return;
		if (block && peek_char(s, 0) == '*' && peek_char(s, 1) == '/') {
			s->pos += 2;
			return;
		}
		step_char(s);
	}
}

static void note_include(struct kl_tokens *out, const char *s, size_t n)
{
	static const char word[] = "include";
	size_t i = 1, end;

	while (i < n && (s[i] == ' ' || s[i] == '\t'))
		i++;
	if (n - i < sizeof(word) || memcmp(s + i, word, sizeof(word) - 1))
		return;
	i += sizeof(word) - 1;
	while (i < n && (s[i] == ' ' || s[i] == '\t'))
		i++;
	if (i >= n || s[i] != '"')
		return;
	for (end = ++i; end < n && s[end] != '"'; end++)
		;
	if (end < n)
		kl_strvec_take(&out->headers, kl_strndup(s + i, end - i));
}

/* To the end of the line; a backslash or a comment carries it on. */
static void skip_directive(struct kl_tokens *out, struct scan *s)
{
	size_t from = s->pos;

	while (s->pos < s->len && peek_char(s, 0) != '\n') {
		if (peek_char(s, 0) == '/' && (peek_char(s, 1) == '*' || peek_char(s, 1) == '/')) {
			skip_comment(s);
			continue;
		}
		if (peek_char(s, 0) == '\\' && s->pos + 1 < s->len)
			step_char(s);
		step_char(s);
	}
	note_include(out, s->text + from, s->pos - from);
}

static void skip_quoted(struct scan *s)
{
	char quote = s->text[s->pos++];

	while (s->pos < s->len && peek_char(s, 0) != quote && peek_char(s, 0) != '\n') {
		if (peek_char(s, 0) == '\\' && s->pos + 1 < s->len)
			step_char(s);
		step_char(s);
	}
	if (peek_char(s, 0) == quote)
		s->pos++;
}

/* Signs that must not be split for what proto looks at. */
static size_t sign_length(const struct scan *s)
{
	static const char *const two[] = {
		"==", "!=", "<=", ">=", "&&", "||", "++", "--", "->", "+=",
		"-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<", ">>",
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(two); i++)
		if (peek_char(s, 0) == two[i][0] && peek_char(s, 1) == two[i][1])
			return 2;
	return 1;
}

static void read_token(struct kl_tokens *out, struct scan *s)
{
	struct kl_token t = { .s = s->text + s->pos, .line = s->line };
	size_t from = s->pos;
	int c = peek_char(s, 0);

	s->line_start = false;
	if (c == '"' || c == '\'') {
		t.kind = KL_TOKEN_STRING;
		skip_quoted(s);
	} else if (isdigit(c)) {
		t.kind = KL_TOKEN_NUMBER;
		while (in_word(peek_char(s, 0)) || peek_char(s, 0) == '.')
			s->pos++;
	} else if (in_word(c)) {
		t.kind = KL_TOKEN_WORD;
		while (in_word(peek_char(s, 0)))
			s->pos++;
	} else {
		t.kind = KL_TOKEN_SIGN;
		s->pos += sign_length(s);
	}
	t.n = s->pos - from;
	KL_GROW(out->t, out->n + 1, out->alloc);
	out->t[out->n++] = t;
}

void kl_lexer_read(struct kl_tokens *out, const char *text, size_t len)
{
	struct scan s = { .text = text, .len = len, .line = 1, .line_start = true };

	while (s.pos < s.len) {
		int c = peek_char(&s, 0);

		if (c == '/' && (peek_char(&s, 1) == '*' || peek_char(&s, 1) == '/'))
			skip_comment(&s);
		else if (c == '#' && s.line_start)
			skip_directive(out, &s);
		else if (c == '\\' || !c || isspace(c))
			step_char(&s);
		else
			read_token(out, &s);
	}
}

void kl_tokens_release(struct kl_tokens *t)
{
	free(t->t);
	kl_strvec_release(&t->headers);
	*t = (struct kl_tokens){ 0 };
}

bool kl_token_is(const struct kl_tokens *t, size_t i, const char *s)
{
	return i < t->n && strlen(s) == t->t[i].n && !memcmp(s, t->t[i].s, t->t[i].n);
}

size_t kl_token_skip(const struct kl_tokens *t, size_t i)
{
	size_t depth = 0;

	for (; i < t->n; i++) {
		if (kl_token_is(t, i, "(") || kl_token_is(t, i, "[") || kl_token_is(t, i, "{"))
			depth++;
		else if (kl_token_is(t, i, ")") || kl_token_is(t, i, "]") || kl_token_is(t, i, "}"))
			if (!--depth)
				return i + 1;
	}
	return t->n;
}
