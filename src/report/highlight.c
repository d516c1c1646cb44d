/* SPDX-License-Identifier: Apache-2.0 */
#include "report/highlight.h"

#include <ctype.h>
#include <string.h>

#include "text/html.h"

/* A run of bytes of one class; NULL: neither keyword nor string, number or comment. */
struct run {
	const char *class_;
	size_t len;
};

static const char *const keywords[] = {
	"alignas", "auto",       "bool",       "break",      "case",         "char",
	"class",   "const",      "constexpr",  "continue",   "default",      "do",
	"double",  "else",       "enum",       "extern",     "float",        "for",
	"goto",    "half",       "if",         "inline",     "int",          "int32_t",
	"int64_t", "long",       "namespace",  "register",   "restrict",     "return",
	"short",   "signed",     "size_t",     "sizeof",     "static",       "struct",
	"switch",  "template",   "typedef",    "typename",   "uint32_t",     "uint64_t",
	"uint8_t", "union",      "unsigned",   "using",      "void",         "volatile",
	"while",   "__device__", "__global__", "__shared__", "__restrict__", "__launch_bounds__",
	"asm",
};

static bool is_keyword(const char *word, size_t n)
{
	for (size_t i = 0; i < sizeof(keywords) / sizeof(*keywords); i++)
		if (strlen(keywords[i]) == n && !memcmp(keywords[i], word, n))
			return true;
	return false;
}

/* Return the length of the comment at `text`, which may be the rest of one that began earlier. */
static size_t comment_length(struct kl_highlight *state, const char *text, size_t n)
{
	const char *end;

	if (!state->in_comment && n >= 2 && text[0] == '/' && text[1] == '/')
		return n;
	if (!state->in_comment && (n < 2 || text[0] != '/' || text[1] != '*'))
		return 0;
	end = state->in_comment ? memmem(text, n, "*/", 2) : memmem(text + 2, n - 2, "*/", 2);
	state->in_comment = !end;
	return end ? (size_t)(end - text) + 2 : n;
}

static size_t string_length(const char *text, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		if (text[i] == '\\')
			i++;
		else if (text[i] == *text)
			return i + 1;
	}
	return n;
}

static size_t word_length(const char *text, size_t n)
{
	size_t len = 0;

	while (len < n && (isalnum((unsigned char)text[len]) || text[len] == '_'))
		len++;
	return len;
}

/* Take the run at `text`; `n` is above 0. */
static struct run next_run(struct kl_highlight *state, const char *text, size_t n)
{
	size_t len = comment_length(state, text, n);

	if (len)
		return (struct run){ "c", len };
	if (*text == '"' || *text == '\'')
		return (struct run){ "s", string_length(text, n) };
	len = word_length(text, n);
	if (!len)
		return (struct run){ NULL, 1 };
	if (isdigit((unsigned char)*text))
		return (struct run){ "m", len };
	return (struct run){ is_keyword(text, len) ? "k" : NULL, len };
}

void kl_highlight_line(struct kl_buf *out, struct kl_highlight *state, const char *line, size_t n)
{
	size_t from = 0;

	/* runs without a class are written together, so that no character of UTF-8 is cut */
	for (size_t at = 0; at < n;) {
		struct run run = next_run(state, line + at, n - at);

		if (run.class_) {
			kl_html_addn(out, line + from, at - from);
			kl_buf_addf(out, "<span class=\"%s\">", run.class_);
			kl_html_addn(out, line + at, run.len);
			kl_buf_adds(out, "</span>");
			from = at + run.len;
		}
		at += run.len;
	}
	kl_html_addn(out, line + from, n - from);
}

bool kl_highlight_is_comment(struct kl_highlight *state, const char *line, size_t n)
{
	bool only = true;

	for (size_t at = 0; at < n;) {
		bool space = isspace((unsigned char)line[at]) && !state->in_comment;
		struct run run = next_run(state, line + at, n - at);

		only = only && (space || (run.class_ && *run.class_ == 'c'));
		at += run.len;
	}
	return only;
}
