/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_STUDY_STUDY_FIGURE_H
#define KL_STUDY_STUDY_FIGURE_H

#include "base/buf.h"
#include "text/json.h"

/*
 * study_figure - draws the curves of a study as SVG: the best speed of each policy with its band,
 * over candidates or dollars, on a logarithmic axis. Policies differ in color and in dashes, so
 * that the figure can be read without colors. It needs no script, and its text takes the color of
 * the surrounding text.
 */

/** Which curve to draw: "candidates" or "nano" (dollars), the member of a report's curves. */
#define KL_FIGURE_CANDIDATES "candidates"
#define KL_FIGURE_DOLLARS "nano"

/** Append the figure of a report; return false, and append nothing, if it has no such curve. */
bool kl_study_figure(struct kl_buf *svg, const json_t *report, const char *over);

#endif
