/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_LINEAGE_FIGURE_H
#define KL_LINEAGE_FIGURE_H

#include "lineage/view.h"
#include "model/ledger.h"

/*
 * figure - pictures of a lineage as SVG: each stands alone as a file and within a page, asks
 * nothing of the network, runs no script, and takes its ink from the text around it (currentColor).
 * Speeds are on logarithmic axes: what is equally far is equally many times faster.
 */

/**
 * Speed against K_0, state by state, with intervals, and the vendor's baseline where it was
 * measured.
 */
void kl_figure_trace(struct kl_buf *svg, const struct kl_view *view);
/** What each step brought against the one before. */
void kl_figure_steps(struct kl_buf *svg, const struct kl_view *view);
/**
 * The best state that was derived anew, against what had been spent by then; false: no money was
 * spent on this lineage, and nothing is written.
 */
bool kl_figure_cost(struct kl_buf *svg, const struct kl_view *view, const struct kl_ledger *ledger);

#endif
