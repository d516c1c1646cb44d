/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BASE_CLOCK_H
#define KL_BASE_CLOCK_H

#include <stdint.h>

/* clock - monotonic nanoseconds, and time as git-klineage writes it. */
int64_t kl_clock_ns(void);
void kl_clock_sleep_ms(int64_t ms);
/** "2026-11-20T10:00:00Z" of now, or of $KLINEAGE_TIME (tests); `out` has 21 bytes. */
void kl_clock_iso(char out[21]);

#endif
