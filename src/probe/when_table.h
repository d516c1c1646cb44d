/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_PROBE_WHEN_TABLE_H
#define KL_PROBE_WHEN_TABLE_H

#include "probe/when.h"
#include "text/json.h"

/* when_table - writes the points of a map as the rows of a table, as HTML and as JSON. */

/**
 * Return the smallest cache of this machine that holds all tensors of a point: "L1", "L2", "L3", or
 * "memory"; "" for a map of a GPU.
 */
const char *kl_when_fits(const struct kl_when *when, const struct kl_when_point *point);
/** Append "1.84x [1.79, 1.88] faster", "fails (wrong-edge)" and the like. */
void kl_when_outcome(struct kl_buf *out, const struct kl_when_point *point);
/** Sort the points by their dims, the first dim first. */
void kl_when_sort(struct kl_when *when);

/** Append a table of all judged points; all text is escaped. */
void kl_when_table_html(struct kl_buf *out, const struct kl_when *when);
/** Return the map as an object of schema klineage.map/1; the caller owns the reference. */
json_t *kl_when_json(const struct kl_when *when, const struct kl_taxonomy *tax);

#endif
