/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_LINEAGE_REPORT_H
#define KL_LINEAGE_REPORT_H

#include "lineage/view.h"

/*
 * report - lineages as one self-contained HTML page: figures, the table of states, folded diffs
 * and gate evidence, and the rejected steps. The page has no scripts and makes no requests,
 * whatever the lineages contain: text from the repository is escaped, and the page's content
 * security policy forbids the rest.
 */
int kl_report_html(struct kl_buf *out, struct kl_repo *repo, const struct kl_view *view, size_t n);

#endif
