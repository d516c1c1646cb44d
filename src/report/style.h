/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REPORT_STYLE_H
#define KL_REPORT_STYLE_H

/*
 * style - the style sheet of a report: light, dark, narrow and printed. Every color is a variable, so
 * that a test can compute the contrast of each text on each ground: variables of texts are named
 * --t-..., those of grounds --g-....
 */
extern const char kl_report_style[];

#endif
