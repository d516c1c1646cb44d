/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/c/spelling.h"

#include <ctype.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"

static bool is_pair(const char *at, const char *const *pairs)
{
	for (; *pairs; pairs++)
		if (at[0] == (*pairs)[0] && at[1] == (*pairs)[1])
			return true;
	return false;
}

/* Skip a line of the preprocessor; NULL if a compiler could see its end elsewhere. */
static const char *skip_line(const char *at)
{
	static const char *const pairs[] = { "/*", "//", "R\"", "%:", "??", NULL };

	for (; *at && *at != '\n'; at++)
		if (*at == '\\' || is_pair(at, pairs))
			return NULL;
	return at;
}

/* Skip a string or a character; NULL if it does not end in its line. */
static const char *skip_string(const char *at)
{
	char quote = *at++;

	for (; *at && *at != '\n'; at++) {
		if (*at == quote)
			return at + 1;
		if (*at == '\\' && at[1] && at[1] != '\n')
			at++;
	}
	return NULL;
}

/*
 * Skip a word or a number; NULL if it is _Pragma, or a quote continues it (raw string, digit
 * separator).
 */
static const char *skip_word(const char *at)
{
	size_t n = 1;

	while (isalnum((unsigned char)at[n]) || at[n] == '_' || at[n] == '$')
		n++;
	if ((at[n] == '"' && at[n - 1] == 'R') || (at[n] == '\'' && isdigit((unsigned char)*at)) ||
	    (n == 7 && !memcmp(at, "_Pragma", n)))
		return NULL;
	return at + n;
}

/*
 * Push an opening bracket, or pop the one that matches a closing bracket; false if it matches none.
 */
static bool match_bracket(struct kl_buf *open, char ch)
{
	static const char pairs[] = "()[]{}";
	const char *at = ch ? strchr(pairs, ch) : NULL;

	if (!at)
		return true;
	if ((at - pairs) % 2 == 0) {
		kl_buf_addch(open, ch);
		return true;
	}
	if (!open->len || open->ptr[open->len - 1] != at[-1])
		return false;
	open->len--;
	return true;
}

/* Skip a token; NULL if a compiler may read other tokens here than the lexer. */
static const char *skip_token(struct kl_buf *open, const char *at)
{
	static const char *const pairs[] = { "/*", "//", "<%", "%>", "<:", ":>", "%:", "??", NULL };
	unsigned char ch = (unsigned char)*at;

	if (isalnum(ch) || ch == '_' || ch == '$')
		return skip_word(at);
	if (ch == '"' || ch == '\'')
		return skip_string(at);
	/*
	 * unlike a compiler, the lexer reads control characters as blanks, and bytes from 0x80 on
	 * as letters
	 */
	if (ch < ' ' || ch > '~' || ch == '\\' || is_pair(at, pairs) || !match_bracket(open, *at))
		return NULL;
	return at + 1;
}

bool kl_spelling_is_plain(const char *text)
{
	KL_AUTO(kl_buf_release) struct kl_buf open = KL_BUF_INIT;
	bool line_start = true;

	while (text && *text) {
		if (*text == ' ' || *text == '\t' || *text == '\n') {
			line_start |= *text++ == '\n';
			continue;
		}
		text = *text == '#' && line_start ? skip_line(text) : skip_token(&open, text);
		line_start = false;
	}
	return text && !open.len;
}
