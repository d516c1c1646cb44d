/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BASE_CLOCK_H
#define KL_BASE_CLOCK_H

#include <stdint.h>

/* clock - monotonic time, sleeping and UTC timestamps. */
/** Monotonic clock, nanoseconds. */
int64_t kl_clock_ns(void);
void kl_clock_sleep_ms(int64_t ms);
/**
 * The current UTC time as "2026-11-20T10:00:00Z", or the value of $KLINEAGE_TIME if that is set
 * (for tests).
 */
void kl_clock_iso(char out[21]);

#endif
