/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REPORT_REPORT_H
#define KL_REPORT_REPORT_H

#include "lineage/view.h"

/*
 * report - writes lineages as one self-contained HTML page: what the kernel is, figures, a table of
 * states, rejected steps with their reasons, and folded edits and gate evidence. Whatever text the
 * lineages contain, the page runs no scripts and makes no requests: text from the repository is
 * escaped, and the content security policy of the page forbids both.
 */
int kl_report_html(struct kl_buf *out, struct kl_repo *repo, const struct kl_view *view, size_t n);

#endif
