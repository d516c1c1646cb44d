/* SPDX-License-Identifier: Apache-2.0 */
#include "model/provider/retry.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_MS INT64_C(500)
#define DOUBLINGS 8 /* doublings of FIRST_MS until KL_RETRY_LONGEST_MS is exceeded */
#define FOREVER (INT64_C(1) << 50)

/* Parse a non-negative decimal number. Return its thousandths, or -1 if it is malformed. */
static int64_t parse_thousandths(const char *text)
{
	double number;
	char *end;

	if (!text || !isdigit((unsigned char)*text) || text[strspn(text, "0123456789.")])
		return -1;
	number = strtod(text, &end);
	if (*end)
		return -1;
	return number * 1000 > (double)FOREVER ? FOREVER : (int64_t)(number * 1000);
}

/*
 * Return the milliseconds until a date in one of the three forms of RFC 9110, or -1 if it is
 * malformed. Needs the C locale.
 */
static int64_t until_date(const char *text, time_t now)
{
	static const char *const form[] = {
		"%a, %d %b %Y %H:%M:%S GMT",
		"%A, %d-%b-%y %H:%M:%S GMT",
		"%a %b %d %H:%M:%S %Y",
	};

	for (size_t i = 0; i < sizeof(form) / sizeof(form[0]); i++) {
		struct tm tm = { 0 };
		const char *end = strptime(text, form[i], &tm);
		time_t at;

		if (!end || *end)
			continue;
		at = timegm(&tm);
		return at > now ? (int64_t)(at - now) * 1000 : 0;
	}
	return -1;
}

int64_t kl_retry_wish(const char *after_ms, const char *after, time_t now)
{
	int64_t ms = parse_thousandths(after_ms);

	if (ms >= 0)
		return ms / 1000;
	ms = parse_thousandths(after);
	return ms >= 0 || !after ? ms : until_date(after, now);
}

int64_t kl_retry_delay(unsigned failures, int64_t wish, struct kl_rng *rng)
{
	int64_t ms;

	if (wish >= 0)
		return wish + (int64_t)kl_rng_below(rng, (uint64_t)wish / 10 + 1);
	ms = failures > DOUBLINGS ? KL_RETRY_LONGEST_MS : FIRST_MS << (failures - 1);
	ms = ms > KL_RETRY_LONGEST_MS ? KL_RETRY_LONGEST_MS : ms;
	return ms - (int64_t)kl_rng_below(rng, (uint64_t)ms / 2 + 1);
}
