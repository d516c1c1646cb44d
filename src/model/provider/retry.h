/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_MODEL_PROVIDER_RETRY_H
#define KL_MODEL_PROVIDER_RETRY_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/rng.h"

/*
 * retry - whether a server that refused may be asked again, and when: pure, so that it can be
 * tested without waiting.
 */
#define KL_RETRY_ATTEMPTS 5
#define KL_RETRY_MAX_MS (INT64_C(5) * 60 * 1000) /* that a server may ask us to wait */

/** 408, 409, 429 and all from 500 on. */
bool kl_retry_status(long status);

/**
 * Milliseconds to wait after the `attempt`th attempt (from 1). What the server said goes first
 * (`retry-after-ms`, `retry-after` in seconds or as a date; each may be NULL) and is made
 * longer by up to a tenth, so that many clients do not come at once; else half a second doubled
 * each time, at most 30 s and `longest_ms`, of which up to a half is taken off. -1: the server
 * wants more than KL_RETRY_MAX_MS.
 */
int64_t kl_retry_delay(unsigned attempt, const char *after_ms, const char *after, time_t now,
		       int64_t longest_ms, struct kl_rng *rng);

#endif
