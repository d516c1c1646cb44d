/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_EVENT_RECORD_H
#define KL_EVENT_RECORD_H

#include "base/map.h"
#include "text/json.h"

/*
 * record - reads gate events for a lineage, and makes its forward event: the comparison of a state
 * that was reached by walking back.
 *
 * The gate measured K_{i-1} against K_i. The same pair says how K_i compares with
 * K_{i-1}: ratio and interval inverted. That event is K_i's own with this one
 * comparison in place of the old, and names both sources in "inverse".
 */

/** "" if there is none. */
const char *kl_record_id(const json_t *event);

/** Ratio against the parent in ppm, 0 if it was not compared; `lo`, `hi` may be NULL. */
int64_t kl_record_ratio(const json_t *event, int64_t *lo, int64_t *hi);
/** The same against the contract's baseline; `*what` is its name, borrowed. */
int64_t kl_record_baseline(const json_t *event, const char **what);
/**
 * Is what `event` judged not slower than the surface `goal` it was compared with, or clearly slower
 * (event/speed.h)? One case that is makes the whole so. Both false: it does not say. So it is, too,
 * where 3 A/A is above 10 % and only that margin makes it not slower: else noise would be proof.
 */
void kl_record_against(bool *not_slower, bool *slower, const json_t *event, const char *goal);
/** ns of the first case; 0: not profiled. */
int64_t kl_record_ns(const json_t *event);

/**
 * The forward event of a state: `state` is its own event, `pair` that of its
 * predecessor on the lineage, which was compared with it. `time` in seconds.
 */
json_t *kl_record_inverse(const json_t *state, const json_t *pair, int64_t time);

/** JSON Lines: each event by its id; values are json_t *. Malformed lines are KL_EINVALID "<name>:<line>". */
int kl_record_load(struct kl_map *out, const char *name, const char *text, size_t len);

#endif
