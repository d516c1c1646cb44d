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
#define KL_RETRY_LONGEST_MS (INT64_C(2) * 60 * 1000) /* longest pause that we choose ourselves */

/**
 * Return true if another attempt can succeed after this HTTP status: 408, 409, 425, 429, or 500 and
 * above except 501 and 505.
 */
bool kl_retry_status(long status);

/**
 * Return true if the status shows that no model can have run: 101, 3xx, 4xx except 408 and 499,
 * 501, 503, 505 and 529. A 500, a gateway timeout (502, 504, 52x) or a request timeout (408) can
 * occur after tokens were generated.
 */
bool kl_retry_is_free(long status);

/**
 * Return the pause that a server asks for in its headers `retry-after-ms` and `retry-after`
 * (seconds or a date), in milliseconds. Each header can be NULL. -1: there is none, or it is
 * malformed.
 */
int64_t kl_retry_wish(const char *after_ms, const char *after, time_t now);

/**
 * Return the pause after the `failures`-th failure in a row (from 1), in milliseconds. If the
 * server asks for a pause (`wish`; -1: none), the pause is that one plus a random addition of up to
 * a tenth, so that not all clients repeat at once. Otherwise the pause is half a second, doubled
 * for each further failure up to KL_RETRY_LONGEST_MS, minus a random part of up to a half.
 */
int64_t kl_retry_delay(unsigned failures, int64_t wish, struct kl_rng *rng);

#endif
