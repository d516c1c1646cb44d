/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/cli/columns.h"

#include <limits.h>
#include <locale.h>
#include <stdbool.h>
#include <string.h>
#include <wchar.h>

#include "base/utf8.h"

/* Return the columns of the character at `text`, and its length in bytes. */
static int measure_character(size_t *n, const char *text, size_t len, mbstate_t *state)
{
	wchar_t character;
	int columns;

	*n = kl_utf8_char(text, len);
	if (*n < 2) {
		*n = 1;
		return 1;
	}
	if (mbrtowc(&character, text, *n, state) != *n) {
		*state = (mbstate_t){ 0 };
		return 1;
	}
	columns = wcwidth(character);
	return columns < 0 ? 1 : columns;
}

static bool is_ascii(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)text[i] >= 0x80)
			return false;
	return true;
}

/* Measure up to `most` columns; return how many, and set *used to the bytes that take them. */
static int measure_text(size_t *used, const char *text, size_t len, int most)
{
	locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0), before = (locale_t)0;
	mbstate_t state = { 0 };
	int columns = 0;
	size_t at = 0, n;

	if (utf8)
		before = uselocale(utf8);
	for (; at < len; at += n) {
		int more = measure_character(&n, text + at, len - at, &state);

		if (more > most - columns)
			break;
		columns += more;
	}
	if (utf8) {
		uselocale(before);
		freelocale(utf8);
	}
	*used = at;
	return columns;
}

int kl_columns_of(const char *text, size_t len)
{
	size_t used;

	if (is_ascii(text, len))
		return (int)len; /* most text is; loading a locale takes longer than this */
	return measure_text(&used, text, len, INT_MAX);
}

size_t kl_columns_cut(const char *text, int most)
{
	size_t used;

	measure_text(&used, text, strlen(text), most);
	return used;
}
