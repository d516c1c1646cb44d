/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REPORT_FIGURE_H
#define KL_REPORT_FIGURE_H

#include "model/ledger.h"
#include "report/content.h"
#include "report/drawing.h"

/*
 * figure - draws figures of a lineage, for use as files and inside a page. Each function fills in an
 * empty drawing, `width` pixels wide, that the caller releases. Below KL_FIGURE_NARROW pixels, labels
 * are short, so that the figure can be read on a telephone or in a column of a paper.
 */
#define KL_FIGURE_WIDTH 860
#define KL_FIGURE_COLUMN 400
#define KL_FIGURE_NARROW 600

/**
 * Draw the speed of each state in percent of the reference, with its interval, the rejected steps at
 * the states that they were tried on, and the speed that the memory permits, if it is known.
 */
void kl_figure_share(struct kl_drawing *out, const struct kl_report_content *content, int width);
/** Draw the speed of each state compared with K_0, with its interval, on a logarithmic axis. */
void kl_figure_trace(struct kl_drawing *out, const struct kl_report_content *content, int width);
/** Draw the speed of each state compared with the previous state, on a logarithmic axis. */
void kl_figure_steps(struct kl_drawing *out, const struct kl_report_content *content, int width);
/**
 * Draw the speed of the best re-derived state so far over the money spent so far. If no money was
 * spent on this lineage, draw nothing and return false.
 */
bool kl_figure_cost(struct kl_drawing *out, const struct kl_report_content *content,
		    const struct kl_ledger *ledger, int width);
/** maximum number of lineages in one figure */
#define KL_FIGURE_LINEAGES 3
/**
 * Draw one curve for each lineage: its speed in percent of its reference. The curves have different
 * dashes and marks, and a name at the end. Lineages beyond KL_FIGURE_LINEAGES are left out.
 */
void kl_figure_lineages(struct kl_drawing *out, const struct kl_report_content *content, size_t n,
			int width);

/** Append the numbers of the figures as CSV (RFC 4180), one row for each state. */
void kl_figure_csv(struct kl_buf *out, const struct kl_report_content *content);

#endif
