/* SPDX-License-Identifier: Apache-2.0 */
/* cocci_audit - refuses semantic patches that run scripts or read other files */
#include "rewrite/cocci.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

static bool word_at(const char *s, const char *end, const char *word)
{
	size_t n = strlen(word);

	return (size_t)(end - s) >= n && !memcmp(s, word, n);
}

static bool is_word(int c)
{
	return isalnum(c) || c == '_';
}

/* blanks and comments between the word and its colon do not hide it */
static const char *skip_space(const char *s, const char *end)
{
	for (;;) {
		while (s < end && isspace((unsigned char)*s))
			s++;
		if (word_at(s, end, "//")) {
			while (s < end && *s != '\n')
				s++;
		} else if (word_at(s, end, "/*")) {
			for (s += 2; s < end && !word_at(s, end, "*/"); s++)
				;
			s += s < end ? 2 : 0;
		} else {
			return s;
		}
	}
}

static int refuse_rule(const char *name, const char *text, const char *at, const char *what)
{
	int line = 1;

	for (const char *s = text; s < at; s++)
		line += *s == '\n';
	return kl_error(KL_EINVALID,
			"%s:%d: a semantic patch may not use '%s'; "
			"only rules that rewrite are run",
			name, line, what);
}

static int audit_line_start(const char *name, const char *text, const char *s, const char *end)
{
	while (s < end && (*s == ' ' || *s == '\t' || *s == '\r'))
		s++;
	if (s < end && *s == '#') {
		const char *w = skip_space(s + 1, end);

		/* "- #define X 1" and "+ #include <x>" are code, and begin with a sign */
		if (word_at(w, end, "include") || word_at(w, end, "spatch"))
			return refuse_rule(name, text, s, "#include or #spatch");
	}
	if (word_at(s, end, "using") && s + 5 < end && !is_word((unsigned char)s[5]))
		return refuse_rule(name, text, s, "using");
	return 0;
}

int kl_cocci_audit(const char *name, const char *text, size_t len)
{
	static const char *const rule[] = { "script", "initialize", "finalize" };
	const char *end = text + len;

	if (memchr(text, '\0', len))
		return kl_error(KL_EINVALID, "%s: a semantic patch is text", name);
	for (const char *s = text; s < end; s++) {
		int err;

		if ((s == text || s[-1] == '\n') &&
		    (err = audit_line_start(name, text, s, end)) < 0)
			return err;
		for (size_t i = 0; i < KL_ARRAY_SIZE(rule); i++) {
			const char *after = s + strlen(rule[i]);

			if (!word_at(s, end, rule[i]) ||
			    (s > text && is_word((unsigned char)s[-1])))
				continue;
			after = skip_space(after, end);
			if (after >= end || *after == ':')
				return refuse_rule(name, text, s, rule[i]);
		}
	}
	return 0;
}
