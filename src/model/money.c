/* SPDX-License-Identifier: Apache-2.0 */
#include "model/money.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"

#define PLACES 9
#define MOST_DIGITS 99 /* maximum number of digits of an amount that a program writes */

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

/*
 * Add a digit whose weight is 10^`place` nano-dollars. The digit at place -1 rounds the sum; digits
 * at lower places are ignored. Return false if the sum is above KL_MONEY_MAX.
 */
static bool add_digit(int64_t *nano, int digit, int place)
{
	int64_t weight = 1;

	if (!digit || place < -1)
		return true;
	if (place == -1) {
		*nano += digit >= 5;
		return true;
	}
	for (int i = 0; i < place && weight <= KL_MONEY_MAX; i++)
		weight *= 10;
	if (weight > KL_MONEY_MAX)
		return false;
	*nano += digit * weight;
	return *nano <= KL_MONEY_MAX;
}

/* Read the number after the 'e' of an amount. Return false if it is malformed. */
static bool read_exponent(int *out, const char *text)
{
	size_t sign = *text == '-' || *text == '+', n = strspn(text + sign, "0123456789");
	long exponent;

	if (!n || n > 2 || text[sign + n])
		return false;
	exponent = strtol(text, NULL, 10);
	*out = (int)exponent;
	return true;
}

bool kl_money_read_amount(int64_t *nano, const char *text, int unit)
{
	bool negative = *text == '-';
	const char *digits = text + negative;
	size_t whole = strspn(digits, "0123456789"), part = 0;
	int exponent = 0, place;
	const char *rest = digits + whole;
	int64_t sum = 0;

	if (*rest == '.') {
		part = strspn(rest + 1, "0123456789");
		rest += 1 + part;
	}
	if (whole + part == 0 || whole + part > MOST_DIGITS)
		return false;
	if ((*rest == 'e' || *rest == 'E') ? !read_exponent(&exponent, rest + 1) : *rest != '\0')
		return false;
	place = PLACES + unit + exponent + (int)whole;
	for (const char *ch = digits; *ch && *ch != 'e' && *ch != 'E'; ch++)
		if (*ch != '.' && !add_digit(&sum, *ch - '0', --place))
			return false;
	*nano = negative ? -sum : sum;
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
