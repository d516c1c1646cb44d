/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_LINEAGE_REPORT_H
#define KL_LINEAGE_REPORT_H

#include "lineage/view.h"

/*
 * report - lineages as one HTML page that stands alone: figures, the table of states with diffs and
 * gate evidence folded below, what was rejected. No script, no request to anywhere, whatever the
 * lineages say: all that comes from a repository is escaped, and the page's own policy forbids the
 * rest.
 */
int kl_report_html(struct kl_buf *out, struct kl_repo *repo, const struct kl_view *view, size_t n);

#endif
