/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_STUDY_STUDY_REPORT_H
#define KL_STUDY_STUDY_REPORT_H

#include "study/study_results.h"

/*
 * study_report - what a study shows, as one JSON document, and that document as text: Markdown and CSV.
 * All that is printed comes from the document. docs/formats.md, "Studies".
 *
 * Speeds are relative to the root, in millionths. Each text says whether its figures are real,
 * recorded or simulated.
 */

/** Return the document, `klineage.study-report/1`; the caller owns it. */
json_t *kl_study_report_json(const struct kl_study_results *results);
/** Append the report as Markdown. */
void kl_study_report_markdown(struct kl_buf *out, const json_t *report);
/** Append the report as an HTML page with its figures; the page has no script and loads nothing. */
void kl_study_report_html(struct kl_buf *out, const json_t *report);
/** Append the figure of speed over candidates; nothing if no seed has ended. */
void kl_study_report_svg(struct kl_buf *out, const json_t *report);
/** Append a line for each cell, with the tip of its chain. */
void kl_study_report_cells_csv(struct kl_buf *out, const json_t *report);
/** Append a line for each policy and each number of candidates or dollars. */
void kl_study_report_curves_csv(struct kl_buf *out, const json_t *report);

#endif
