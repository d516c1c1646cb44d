/* SPDX-License-Identifier: Apache-2.0 */
/* figure_csv - the numbers behind the figures, as comma-separated values */
#include <string.h>

#include "report/figure.h"

/*
 * Append a text as a field. Quotes are doubled. A text that a spreadsheet would take for a formula
 * gets an apostrophe before it.
 */
static void add_field(struct kl_buf *out, const char *text)
{
	text = text ? text : "";
	kl_buf_adds(out, strchr("=+-@\t\r", *text) && *text ? ",\"'" : ",\"");
	for (const char *at = text; *at; at++) {
		if (*at == '"')
			kl_buf_addch(out, '"');
		kl_buf_addch(out, *at);
	}
	kl_buf_addch(out, '"');
}

static void add_ratio(struct kl_buf *out, const struct kl_ratio *ratio)
{
	if (ratio->ppm <= 0)
		kl_buf_adds(out, ",,,");
	else
		kl_buf_addf(out, ",%.6f,%.6f,%.6f", (double)ratio->ppm / 1e6,
			    (double)ratio->lo / 1e6, (double)ratio->hi / 1e6);
}

void kl_figure_csv(struct kl_buf *out, const struct kl_report_content *content)
{
	const struct kl_view *view = content->view;

	kl_buf_adds(out, "state,commit,mechanism,where,ns,previous,previous_lo,previous_hi,"
			 "root,root_lo,root_hi,reference,share,share_lo,share_hi,verdict\r\n");
	for (size_t i = 0; i < view->n; i++) {
		const struct kl_view_step *step = &view->step[i];
		char hex[KL_OID_HEX];

		kl_oid_hex(hex, &step->commit);
		kl_buf_addf(out, "K_%zu,%s", i, hex);
		add_field(out, step->label ? step->label : step->step.mechanism);
		add_field(out, step->step.locus);
		kl_buf_addf(out, step->ns > 0 ? ",%lld" : ",", (long long)step->ns);
		add_ratio(out, &step->prev);
		add_ratio(out, &step->root);
		add_field(out, content->reference);
		add_ratio(out, &content->speed[i].share);
		kl_buf_addf(out, ",%s\r\n", kl_verdict_name(step->verdict));
	}
}
