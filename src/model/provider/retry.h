/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_MODEL_PROVIDER_RETRY_H
#define KL_MODEL_PROVIDER_RETRY_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/rng.h"

/*
 * retry - decides whether and when to retry a failed request, without side effects. It can
 * therefore be tested without waiting.
 */
#define KL_RETRY_ATTEMPTS 5
#define KL_RETRY_MAX_MS (INT64_C(5) * 60 * 1000) /* longest wait that a server can ask for */

/** Is the status worth a retry? 408, 409, 429 and all from 500 on. */
bool kl_retry_status(long status);

/**
 * Milliseconds to wait after attempt number `attempt` (from 1). A delay from the server takes
 * precedence (headers `retry-after-ms`, and `retry-after` in seconds or as a date; each can be
 * NULL); up to a tenth is added at random, so that clients do not retry all at once. Otherwise half
 * a second, doubled for each attempt, at most 30 s and `longest_ms`, minus a random part of up to a
 * half. Returns -1 if the server asks for more than KL_RETRY_MAX_MS.
 */
int64_t kl_retry_delay(unsigned attempt, const char *after_ms, const char *after, time_t now,
		       int64_t longest_ms, struct kl_rng *rng);

#endif
