/* SPDX-License-Identifier: Apache-2.0 */
/* schema_string - the string types that all tables can use */
#include <string.h>

#include "base/clock.h"
#include "text/name.h"
#include "text/schema.h"

#define MAX_LINE 2000
#define MAX_TEXT (256u * 1024)

static bool is_slug(const char *text, size_t len)
{
	return len <= 64 && kl_name_is_slug(text);
}

static bool is_ident(const char *text, size_t len)
{
	(void)len;
	return kl_name_is_ident(text);
}

static bool is_path(const char *text, size_t len)
{
	if (len > 200)
		return false;
	for (;;) {
		size_t n = strcspn(text, "/");
		KL_AUTO(kl_freep) char *part = kl_strndup(text, n);

		if (!kl_name_is_slug(part))
			return false;
		if (!text[n])
			return true;
		text += n + 1;
	}
}

static bool is_time(const char *text, size_t len)
{
	return len == strlen(text) && kl_clock_is_iso(text);
}

const struct kl_string_type kl_string_slug = {
	"a name ([a-z0-9][a-z0-9._-]*, at most 64, and a valid part of a ref's name)",
	is_slug,
	NULL,
};
const struct kl_string_type kl_string_ident = {
	"a C identifier of at most 63 bytes",
	is_ident,
	NULL,
};
const struct kl_string_type kl_string_path = { "names joined by '/'", is_path, NULL };
const struct kl_string_type kl_string_time = { "a time (2026-11-20T10:00:00Z)", is_time, NULL };

/*
 * Check that the text contains no character that could mislead a reader. Texts are printed on
 * terminals and put into prompts, so control characters except newline and tab are rejected, and
 * characters that change the text direction (U+202A-E, U+2066-9).
 */
static bool is_harmless(const char *text, bool lines)
{
	for (const unsigned char *bytes = (const unsigned char *)text; *bytes; bytes++) {
		if ((*bytes < 0x20 && !(lines && (*bytes == '\n' || *bytes == '\t'))) ||
		    *bytes == 0x7f)
			return false;
		if (*bytes == 0xc2 && bytes[1] >= 0x80 && bytes[1] < 0xa0)
			return false;
		if (*bytes == 0xe2 && bytes[1] == 0x80 && bytes[2] >= 0xaa && bytes[2] <= 0xae)
			return false;
		if (*bytes == 0xe2 && bytes[1] == 0x81 && bytes[2] >= 0xa6 && bytes[2] <= 0xa9)
			return false;
	}
	return true;
}

bool kl_string_is_line(const char *text)
{
	return strlen(text) <= MAX_LINE && is_harmless(text, false);
}

static int check_harmless(const char *file, const struct kl_yaml *node, const char *key, bool lines)
{
	if (node->len > (lines ? MAX_TEXT : MAX_LINE))
		return kl_yaml_error(file, node, "'%s' is too long", key);
	if (!is_harmless(node->text, lines))
		return kl_yaml_error(file, node,
				     lines ? "'%s' contains control characters" :
					     "'%s' must be one line without control characters",
				     key);
	return 0;
}

static int check_line(const char *file, const struct kl_yaml *node, const char *key)
{
	return check_harmless(file, node, key, false);
}

static int check_text(const char *file, const struct kl_yaml *node, const char *key)
{
	return check_harmless(file, node, key, true);
}

const struct kl_string_type kl_string_line = { "one line of text", NULL, check_line };
const struct kl_string_type kl_string_text = { "text", NULL, check_text };
