/* SPDX-License-Identifier: Apache-2.0 */
/* cocci_audit - rejects semantic patches that run scripts or read other files */
#include "rewrite/pass/cocci.h"

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

/* Skip white space and comments, which can be between a keyword and its colon. */
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

	for (const char *pos = text; pos < at; pos++)
		line += *pos == '\n';
	return kl_error(
		KL_EINVALID,
		"%s:%d: a semantic patch must not use '%s'; only rules that rewrite code are "
		"allowed",
		name, line, what);
}

static int audit_line_start(const char *name, const char *text, const char *pos, const char *end)
{
	while (pos < end && (*pos == ' ' || *pos == '\t' || *pos == '\r'))
		pos++;
	if (pos < end && *pos == '#') {
		const char *word = skip_space(pos + 1, end);

		/*
		 * a line that begins with '#' is for spatch; directives of code follow a sign: "-
		 * #define"
		 */
		if (word_at(word, end, "include") || word_at(word, end, "spatch"))
			return refuse_rule(name, text, pos, "#include or #spatch");
	}
	if (word_at(pos, end, "using") && pos + 5 < end && !is_word((unsigned char)pos[5]))
		return refuse_rule(name, text, pos, "using");
	return 0;
}

int kl_cocci_audit(const char *name, const char *text, size_t len)
{
	static const char *const rule[] = { "script", "initialize", "finalize" };
	const char *end = text + len;

	if (memchr(text, '\0', len))
		return kl_error(KL_EINVALID, "%s: a semantic patch must be text", name);
	for (const char *pos = text; pos < end; pos++) {
		int err;

		if ((pos == text || pos[-1] == '\n') &&
		    (err = audit_line_start(name, text, pos, end)) < 0)
			return err;
		for (size_t i = 0; i < KL_ARRAY_SIZE(rule); i++) {
			const char *after = pos + strlen(rule[i]);

			if (!word_at(pos, end, rule[i]) ||
			    (pos > text && is_word((unsigned char)pos[-1])))
				continue;
			after = skip_space(after, end);
			if (after >= end || *after == ':')
				return refuse_rule(name, text, pos, rule[i]);
		}
	}
	return 0;
}
