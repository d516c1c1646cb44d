/* SPDX-License-Identifier: Apache-2.0 */
#include "rewrite/source/include_name.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define DEEPEST 8 /* a chain of macros that is longer is not followed */

void kl_include_name_release(struct kl_include_name *name)
{
	free(name->text);
	*name = (struct kl_include_name){ .text = NULL };
}

static const char *skip_blanks(const char *at, const char *end)
{
	while (at < end && (*at == ' ' || *at == '\t'))
		at++;
	return at;
}

/* Return the length of the identifier that begins at `at`; 0 if there is none. */
static size_t word_length(const char *at, const char *end)
{
	size_t n = 0;

	if (at < end && isdigit((unsigned char)*at))
		return 0;
	while (at + n < end && (isalnum((unsigned char)at[n]) || at[n] == '_'))
		n++;
	return n;
}

/* Return the text after "#<word>" and blanks; NULL if it is another directive. */
static const char *after_word(const char *text, const char *end, const char *word)
{
	size_t n = strlen(word);

	text = skip_blanks(text + (text < end), end);
	if ((size_t)(end - text) <= n || strncmp(text, word, n) != 0 || word_length(text, end) != n)
		return NULL;
	return skip_blanks(text + n, end);
}

/* Read the name of a file with its quotes. Return false if the text begins with none. */
static bool read_quoted(struct kl_include_name *out, const char *at, const char *end)
{
	const char *close;

	if (at == end || (*at != '"' && *at != '<'))
		return false;
	close = memchr(at + 1, *at == '"' ? '"' : '>', (size_t)(end - at) - 1);
	if (!close)
		return false;
	out->quoted = *at == '"';
	out->text = kl_strndup(at + 1, (size_t)(close - at) - 1);
	return true;
}

/* Return the text up to the end of the line or a comment, without blanks at the end. */
static char *line_of(const char *at, const char *end)
{
	size_t n = 0;

	while (at + n < end && at[n] != '\n' && at[n] != '\r' &&
	       !(at[n] == '/' && at + n + 1 < end && (at[n + 1] == '*' || at[n + 1] == '/')))
		n++;
	while (n && (at[n - 1] == ' ' || at[n - 1] == '\t'))
		n--;
	return kl_strndup(at, n);
}

static void note_value(struct kl_include_macros *macros, const char *name, char *value)
{
	const char *known = kl_map_get(&macros->value, name);

	if (known && strcmp(known, value) != 0)
		*value = '\0';
	kl_map_put(&macros->value, name, value);
}

void kl_include_name_option(struct kl_include_macros *macros, const char *option)
{
	size_t n = strcspn(option, "=");
	KL_AUTO(kl_freep) char *name = kl_strndup(option, n);

	note_value(macros, name, kl_strdup(option[n] ? option + n + 1 : "1"));
}

bool kl_include_name_define(struct kl_include_macros *macros, const char *text, size_t len)
{
	const char *end = text + len, *at = after_word(text, end, "define");
	const char *gone = at ? NULL : after_word(text, end, "undef");
	KL_AUTO(kl_freep) char *name = NULL;
	size_t n;

	if (!at && !gone)
		return false;
	n = word_length(at ? at : gone, end);
	name = kl_strndup(at ? at : gone, n);
	if (gone && !macros->unordered)
		kl_map_put(&macros->value, name, NULL);
	else if (!gone && n && (at + n == end || at[n] != '('))
		note_value(macros, name, line_of(skip_blanks(at + n, end), end));
	return true;
}

enum kl_include_kind kl_include_name_read(struct kl_include_name *out,
					  const struct kl_include_macros *macros, const char *text,
					  size_t len)
{
	const char *end = text + len, *at = after_word(text, end, "include");
	size_t n;

	*out = (struct kl_include_name){ .text = NULL };
	if (!at)
		return KL_INCLUDE_NONE;
	if (read_quoted(out, at, end))
		return KL_INCLUDE_FILE;
	n = word_length(at, end);
	if (!n)
		return KL_INCLUDE_NONE;
	out->text = kl_strndup(at, n);
	for (int depth = 0; depth < DEEPEST; depth++) {
		const char *value = kl_map_get(&macros->value, out->text);
		struct kl_include_name found = { .text = NULL };

		if (!value || !*value)
			break;
		if (read_quoted(&found, value, value + strlen(value))) {
			free(out->text);
			*out = found;
			return KL_INCLUDE_FILE;
		}
		n = word_length(value, value + strlen(value));
		if (!n || value[n])
			break;
		free(out->text);
		out->text = kl_strdup(value);
	}
	return KL_INCLUDE_MACRO;
}
