/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CMD_REPORT_FIGURES_H
#define KL_CMD_REPORT_FIGURES_H

#include "report/content.h"
#include "text/json.h"

/*
 * report_figures - writes the figures of a lineage as files, for papers: SVG, PDF, TikZ, or the
 * numbers as CSV.
 */
enum kl_report_format {
	KL_REPORT_SVG,
	KL_REPORT_PDF, /* by rsvg-convert */
	KL_REPORT_TIKZ,
	KL_REPORT_CSV, /* one file with the numbers of all figures */
};

/** Return false if no format has this name. */
bool kl_report_format_parse(enum kl_report_format *out, const char *name);

struct kl_report_figures {
	const char *dir; /* created if it does not exist */
	enum kl_report_format format;
	int width;     /* of the figures, in pixels */
	json_t *files; /* the written files are appended to this array; borrowed */
};
/** Write the figures. KL_ECANNOT: rsvg-convert is not installed. */
int kl_report_figures(const struct kl_report_figures *figures, struct kl_repo *repo,
		      const struct kl_view *view);

#endif
