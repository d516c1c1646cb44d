/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REPORT_MAPS_H
#define KL_REPORT_MAPS_H

#include "lineage/view.h"

/*
 * maps - writes the maps of a lineage's steps as HTML: those that git klineage probe --map has
 * measured in this clone (probe/when.h).
 */

/** Append a section of HTML with a figure and a table for each step that has a map. */
int kl_report_maps(struct kl_buf *out, struct kl_repo *repo, const struct kl_view *view);

#endif
