/* SPDX-License-Identifier: Apache-2.0 */
#include "model/money.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"

#define PLACES 9

bool kl_money_parse(int64_t *nano, const char *text)
{
	size_t whole = strspn(text, "0123456789"), part = 0;
	int64_t n = 0;

	if (text[whole] == '.')
		part = strspn(text + whole + 1, "0123456789");
	if (!whole || whole > PLACES || part > PLACES || (text[whole] == '.' && !part) ||
	    text[whole + (part ? part + 1 : 0)])
		return false;
	for (size_t i = 0; i < whole; i++)
		n = n * 10 + (text[i] - '0');
	for (size_t i = 0; i < PLACES; i++)
		n = n * 10 + (i < part ? text[whole + 1 + i] - '0' : 0);
	if (n > KL_MONEY_MAX)
		return false;
	*nano = n;
	return true;
}

void kl_money_text(char out[KL_MONEY_TEXT], int64_t nano)
{
	uint64_t n = nano < 0 ? -(uint64_t)nano : (uint64_t)nano;
	uint64_t tenth_mill = n / 100000 + (n % 100000 != 0);

	snprintf(out, KL_MONEY_TEXT, "%s$%llu.%04llu", nano < 0 ? "-" : "",
		 (unsigned long long)(tenth_mill / 10000),
		 (unsigned long long)(tenth_mill % 10000));
}

int kl_money_config(int64_t *nano, struct kl_repo *repo, const char *key, int64_t dflt)
{
	const char *value = kl_repo_config(repo, key);

	if (!value) {
		*nano = dflt;
		return 0;
	}
	if (!kl_money_parse(nano, value))
		return kl_error(
			KL_EINVALID,
			"config %s: '%s' is not an amount in US dollars, such as 40 or 2.50", key,
			value);
	return 0;
}
