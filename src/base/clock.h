/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BASE_CLOCK_H
#define KL_BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* clock - reads the monotonic clock, sleeps, and formats the current UTC time. */
/** Return the monotonic clock in nanoseconds. */
int64_t kl_clock_ns(void);
void kl_clock_sleep_ms(int64_t ms);
/**
 * Write the current UTC time to `out` as "2026-11-20T10:00:00Z", or the value of $KLINEAGE_TIME if
 * that is set (for tests).
 */
void kl_clock_iso(char out[21]);
/**
 * Return true if `text` has the form of kl_clock_iso(). The numbers are not checked against the
 * calendar.
 */
bool kl_clock_is_iso(const char *text);

#endif
