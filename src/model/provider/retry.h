/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_MODEL_PROVIDER_RETRY_H
#define KL_MODEL_PROVIDER_RETRY_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/rng.h"

/*
 * retry - decides whether and when to repeat a failed request, without side effects. It can
 * therefore be tested without waiting.
 */
#define KL_RETRY_LONGEST_MS (INT64_C(2) * 60 * 1000) /* longest pause of our own */

/** Is the status worth another attempt? 408, 409, 425, 429 and from 500 on, except 501 and 505. */
bool kl_retry_status(long status);

/**
 * The pause that a server asks for, in milliseconds, by its headers `retry-after-ms` and
 * `retry-after` (seconds or a date); each can be NULL. -1: none, or no such time.
 */
int64_t kl_retry_wish(const char *after_ms, const char *after, time_t now);

/**
 * Milliseconds to wait after failure number `failures` (from 1) in a row. A pause that the server
 * asks for (`wish`, -1: none) takes precedence; up to a tenth is added at random, so that clients
 * do not repeat all at once. Otherwise half a second, doubled for each failure up to
 * KL_RETRY_LONGEST_MS, minus a random part of up to a half.
 */
int64_t kl_retry_delay(unsigned failures, int64_t wish, struct kl_rng *rng);

#endif
