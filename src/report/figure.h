/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REPORT_FIGURE_H
#define KL_REPORT_FIGURE_H

#include "lineage/view.h"
#include "model/ledger.h"

/*
 * figure - draws figures of a lineage as SVG, for use as files and inside a page. The figures need
 * no network and no script, and take their color from the surrounding text (currentColor). Axes of
 * speed are logarithmic: equal distances mean equal factors.
 */

/**
 * Draw the speed of each state compared with K_0, with its interval, and the speed of the vendor's
 * baseline if it was timed.
 */
void kl_figure_trace(struct kl_buf *svg, const struct kl_view *view);
/** Draw the speed of each state compared with the previous state. */
void kl_figure_steps(struct kl_buf *svg, const struct kl_view *view);
/**
 * Draw the speed of the best re-derived state so far over the money spent so far. If no money was
 * spent on this lineage, draw nothing and return false.
 */
bool kl_figure_cost(struct kl_buf *svg, const struct kl_view *view, const struct kl_ledger *ledger);

#endif
