/* SPDX-License-Identifier: Apache-2.0 */
#include "text/name.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

bool kl_name_is_slug(const char *text)
{
	size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789._-");

	if (!n || text[n] || n > 64 || !isalnum((unsigned char)text[0]))
		return false;
	/* git does not allow "..", a final '.' or a final ".lock" in the name of a ref */
	if (strstr(text, "..") || text[n - 1] == '.')
		return false;
	return n < 5 || strcmp(text + n - 5, ".lock") != 0;
}

bool kl_name_is_ident(const char *text)
{
	size_t n = 0;

	while (isalnum((unsigned char)text[n]) || text[n] == '_')
		n++;
	return n && !text[n] && n < 64 && !isdigit((unsigned char)text[0]);
}
