/* SPDX-License-Identifier: Apache-2.0 */
/* cocci_audit - refuses semantic patches that run scripts or read other files */
#include "rewrite/cocci.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

static bool word_at(const char *text, const char *end, const char *word)
{
	size_t n = strlen(word);

	return (size_t)(end - text) >= n && !memcmp(text, word, n);
}

static bool is_word(int ch)
{
	return isalnum(ch) || ch == '_';
}

/* blanks and comments between the word and its colon do not hide it */
static const char *skip_space(const char *text, const char *end)
{
	for (;;) {
		while (text < end && isspace((unsigned char)*text))
			text++;
		if (word_at(text, end, "//")) {
			while (text < end && *text != '\n')
				text++;
		} else if (word_at(text, end, "/*")) {
			for (text += 2; text < end && !word_at(text, end, "*/"); text++)
				;
			text += text < end ? 2 : 0;
		} else {
			return text;
		}
	}
}

static int refuse_rule(const char *name, const char *text, const char *at, const char *what)
{
	int line = 1;

	for (const char *string = text; string < at; string++)
		line += *string == '\n';
	return kl_error(KL_EINVALID,
			"%s:%d: a semantic patch may not use '%s'; "
			"only rules that rewrite are run",
			name, line, what);
}

static int audit_line_start(const char *name, const char *text, const char *string, const char *end)
{
	while (string < end && (*string == ' ' || *string == '\t' || *string == '\r'))
		string++;
	if (string < end && *string == '#') {
		const char *word = skip_space(string + 1, end);

		/* "- #define X 1" and "+ #include <x>" are code, and begin with a sign */
		if (word_at(word, end, "include") || word_at(word, end, "spatch"))
			return refuse_rule(name, text, string, "#include or #spatch");
	}
	if (word_at(string, end, "using") && string + 5 < end && !is_word((unsigned char)string[5]))
		return refuse_rule(name, text, string, "using");
	return 0;
}

int kl_cocci_audit(const char *name, const char *text, size_t len)
{
	static const char *const rule[] = { "script", "initialize", "finalize" };
	const char *end = text + len;

	if (memchr(text, '\0', len))
		return kl_error(KL_EINVALID, "%s: a semantic patch is text", name);
	for (const char *string = text; string < end; string++) {
		int err;

		if ((string == text || string[-1] == '\n') &&
		    (err = audit_line_start(name, text, string, end)) < 0)
			return err;
		for (size_t i = 0; i < KL_ARRAY_SIZE(rule); i++) {
			const char *after = string + strlen(rule[i]);

			if (!word_at(string, end, rule[i]) ||
			    (string > text && is_word((unsigned char)string[-1])))
				continue;
			after = skip_space(after, end);
			if (after >= end || *after == ':')
				return refuse_rule(name, text, string, rule[i]);
		}
	}
	return 0;
}
