/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_MODEL_PROVIDER_RETRY_H
#define KL_MODEL_PROVIDER_RETRY_H

#include <stdint.h>
#include <time.h>

#include "base/rng.h"

/*
 * retry - decides when to repeat a failed request, without side effects. It can therefore be tested
 * without waiting.
 */
#define KL_RETRY_LONGEST_MS (INT64_C(2) * 60 * 1000) /* longest pause that we choose ourselves */

/**
 * Return the pause that a server asks for in its headers `retry-after-ms` and `retry-after`
 * (seconds or a date), in milliseconds. Each header can be NULL. Return -1 if there is none, or it
 * is malformed.
 */
int64_t kl_retry_wish(const char *after_ms, const char *after, time_t now);

/**
 * Return the pause after the `failures`-th failure in a row (from 1), in milliseconds. If the
 * server asks for a pause (`wish`; -1 if there is none), return that pause plus a random addition
 * of up to a tenth, so that not all clients repeat their requests at once. Otherwise return half a
 * second, doubled for each further failure up to KL_RETRY_LONGEST_MS, minus a random part of up to
 * a half.
 */
int64_t kl_retry_delay(unsigned failures, int64_t wish, struct kl_rng *rng);

#endif
