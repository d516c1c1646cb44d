/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int64_t kl_clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void kl_clock_sleep_ms(int64_t ms)
{
	struct timespec delay = { ms / 1000, (ms % 1000) * 1000000 };

	nanosleep(&delay, NULL);
}

void kl_clock_iso(char out[21])
{
	const char *fixed = getenv("KLINEAGE_TIME");
	time_t now = time(NULL);
	struct tm tm;

	if (fixed && *fixed) {
		snprintf(out, 21, "%.20s", fixed);
		return;
	}
	gmtime_r(&now, &tm);
	if (!strftime(out, 21, "%Y-%m-%dT%H:%M:%SZ", &tm))
		out[0] = '\0';
}
