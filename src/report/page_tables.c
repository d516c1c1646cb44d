/* SPDX-License-Identifier: Apache-2.0 */
/* page_tables - the head of a lineage on a page, and its tables of states and of rejected steps */
#include <string.h>

#include "report/page.h"
#include "report/roofline.h"
#include "text/html.h"

/* --- the head ------------------------------------------------------------------------------ */

static void add_sizes(struct kl_buf *buf, const struct kl_contract *contract)
{
	kl_buf_adds(buf, "<dt>sizes</dt><dd>");
	for (size_t k = 0; k < contract->nperf; k++) {
		kl_buf_adds(buf, k ? "; " : "");
		for (size_t i = 0; i < contract->dims.n; i++)
			kl_html_addf(buf, "%s%s = %lld", i ? ", " : "", contract->dim_name[i],
				     (long long)contract->perf[k].dims.v[i]);
	}
	kl_buf_adds(buf, "</dd><dt>types</dt><dd>");
	for (size_t i = 0, n = 0; i < contract->nargs; i++) {
		const struct kl_arg *arg = &contract->arg[i];

		if (!kl_arg_kind_is_tensor(arg->kind))
			continue;
		kl_html_addf(buf, "%s%s %s%s", n++ ? ", " : "", arg->name,
			     kl_dtype_name(arg->dtype),
			     kl_arg_kind_is_output(arg->kind) ? " (output)" : "");
	}
	kl_buf_adds(buf, "</dd>");
}

static void add_kernel(struct kl_buf *buf, const struct kl_report_content *content)
{
	const struct kl_contract *contract;

	if (!content->surface)
		return;
	contract = content->surface->contract;
	kl_buf_adds(buf, "<dt>kernel</dt><dd>");
	kl_html_addf(buf, "%s", contract->op);
	if (contract->entry)
		kl_html_addf(buf, ", function %s", contract->entry);
	for (size_t i = 0; i < contract->sources.n; i++)
		kl_html_addf(buf, "%s%s", i ? ", " : ", in ", contract->sources.v[i]);
	kl_buf_adds(buf, "</dd>");
	add_sizes(buf, contract);
	if (content->bytes > 0)
		kl_buf_addf(buf, "<dt>traffic</dt><dd>a call moves at least %.4g MB</dd>",
			    (double)content->bytes / 1e6);
	if (content->flops > 0)
		kl_buf_addf(buf, "<dt>operations</dt><dd>a call does at least %.4g GFLOP</dd>",
			    (double)content->flops / 1e9);
}

void kl_page_head(struct kl_buf *buf, const struct kl_report_content *content)
{
	const struct kl_view *view = content->view;
	const struct kl_roofline roofline = kl_roofline_of(content);

	kl_buf_adds(buf, "<dl>");
	add_kernel(buf, content);
	kl_page_pair(buf, "device", content->device);
	kl_page_pair(buf, "platform", view->step[0].step.platform);
	kl_page_pair(buf, "driver", content->driver);
	kl_page_pair(buf, "compiler", content->compiler);
	if (*content->first) {
		kl_buf_adds(buf, "<dt>measured</dt><dd>");
		kl_html_add(buf, content->first);
		if (strcmp(content->first, content->last) != 0)
			kl_html_addf(buf, " to %s", content->last);
		kl_buf_adds(buf, "</dd>");
	}
	kl_page_pair(buf, "reference",
		     *content->reference ? content->reference :
					   "the expert itself: no other kernel was timed");
	if (roofline.ns > 0)
		kl_buf_addf(
			buf,
			"<dt>roofline</dt><dd>a call takes at least %.2f µs, limited by %s</dd>",
			roofline.ns / 1e3, roofline.bound);
	kl_buf_adds(buf, "<dt>commit</dt><dd>");
	kl_page_commit(buf, content, &view->step[view->n - 1].commit);
	kl_buf_adds(buf, "</dd></dl>\n");
}

/* --- the states ---------------------------------------------------------------------------- */

static void add_facts(struct kl_buf *buf, const struct kl_strvec *list, const char *before)
{
	for (size_t i = 0; i < list->n; i++) {
		kl_buf_adds(buf, i ? " " : before);
		kl_html_add(buf, list->v[i]);
	}
}

/* Write the speed in percent of the reference, and if the roofline is known, of the roofline. */
static void add_share(struct kl_buf *buf, const struct kl_report_content *content, size_t i,
		      const struct kl_roofline *roofline)
{
	const struct kl_ratio *share = &content->speed[i].share;

	kl_buf_adds(buf, "<td class=\"n\">");
	if (share->ppm > 0)
		kl_buf_addf(buf, "%.*f %%", share->ppm < 100000 ? 2 : 1, (double)share->ppm / 1e4);
	else
		kl_buf_adds(buf, "–");
	if (roofline->ns <= 0)
		return;
	kl_buf_adds(buf, "</td><td class=\"n\">");
	if (content->view->step[i].ns > 0)
		kl_buf_addf(buf, "%.1f %%", 100 * roofline->ns / (double)content->view->step[i].ns);
	else
		kl_buf_adds(buf, "–");
}

static void add_state(struct kl_buf *buf, const struct kl_report_content *content, size_t i,
		      const struct kl_roofline *roofline)
{
	const struct kl_view_step *step = &content->view->step[i];
	const char *class_ = step->verdict == KL_VERDICT_PASS ? "pass" :
			     step->verdict == KL_VERDICT_FAIL ? "fail" :
								"soft";
	KL_AUTO(kl_freep) char *mechanism = kl_view_mechanism(step);

	kl_buf_adds(buf, "<tr><td><a href=\"#");
	kl_html_addf(buf, "%s/K_%zu", content->id, i);
	kl_buf_addf(buf, "\">K_%zu</a></td><td>", i);
	kl_page_or_dash(buf, i ? mechanism : "(simplest)");
	kl_buf_adds(buf, "</td><td>");
	kl_page_or_dash(buf, i ? step->step.locus : NULL);
	kl_buf_adds(buf, "</td><td class=\"n\">");
	kl_page_time(buf, step->ns);
	kl_buf_adds(buf, "</td>");
	add_share(buf, content, i, roofline);
	kl_buf_adds(buf, "</td><td class=\"n\">");
	kl_page_ratio(buf, &step->prev);
	kl_buf_adds(buf, "</td><td class=\"n\">");
	kl_page_ratio(buf, &step->root);
	kl_buf_adds(buf, "</td><td>");
	add_facts(buf, &step->gained, "");
	if (step->lost.n) {
		kl_buf_adds(buf, step->gained.n ? "; without " : "without ");
		kl_buf_adds(buf, "<span class=\"lost\">");
		add_facts(buf, &step->lost, "");
		kl_buf_adds(buf, "</span>");
	}
	kl_buf_adds(buf, "</td><td>");
	kl_page_or_dash(buf, i ? step->step.derivation : NULL);
	kl_buf_addf(buf, "</td><td class=\"%s\">", class_);
	kl_page_or_dash(buf, kl_verdict_name(step->verdict));
	kl_buf_adds(buf, "</td></tr>\n");
}

void kl_page_states(struct kl_buf *buf, const struct kl_report_content *content)
{
	const struct kl_roofline roofline = kl_roofline_of(content);

	kl_buf_adds(
		buf,
		"<h3>States</h3>\n<div class=\"wide\" role=\"region\" tabindex=\"0\" "
		"aria-label=\"table of states\"><table><thead><tr><th>state</th>"
		"<th>mechanism</th><th>where</th><th class=\"n\">time</th><th class=\"n\">% of ");
	kl_html_add(buf, *content->reference ? content->reference : "the expert");
	kl_buf_adds(buf, roofline.ns > 0 ? "</th><th class=\"n\">% of roofline" : "");
	kl_buf_adds(buf,
		    "</th><th class=\"n\">× previous</th><th class=\"n\">× K_0</th>"
		    "<th>facts gained, lost</th><th>derivation</th><th>verdict</th></tr></thead>"
		    "<tbody>\n");
	for (size_t i = 0; i < content->view->n; i++)
		add_state(buf, content, i, &roofline);
	kl_buf_adds(buf, "</tbody></table></div>\n");
}

/* --- the rejected steps -------------------------------------------------------------------- */

static void add_reason(struct kl_buf *buf, const struct kl_report_rejected *rejected)
{
	if (*rejected->element) {
		kl_html_add(buf, rejected->element);
		kl_buf_adds(buf, " <span class=\"soft\">at ");
		kl_html_add(buf, rejected->input);
		kl_buf_adds(buf, "</span>");
	} else {
		kl_page_or_dash(buf, rejected->message);
	}
	kl_buf_adds(buf, "</td><td>");
	kl_page_or_dash(buf, rejected->clause);
	if (*rejected->card) {
		kl_buf_adds(buf, " <span class=\"soft\">(card ");
		kl_html_add(buf, rejected->card);
		kl_buf_adds(buf, ")</span>");
	}
}

static void add_rejected(struct kl_buf *buf, const struct kl_report_content *content, size_t k)
{
	const struct kl_report_rejected *rejected = &content->rejected[k];
	const struct kl_step *step = &content->rejections.r[k].step;
	size_t number = content->rejections.n - k;

	kl_buf_adds(buf, "<tr id=\"");
	kl_html_addf(buf, "%s/rejected-%zu", content->id, number);
	kl_buf_addf(buf, "\"><td>%zu</td><td>", number);
	if (rejected->on < content->view->n) {
		kl_buf_adds(buf, "<a href=\"#");
		kl_html_addf(buf, "%s/K_%zu", content->id, rejected->on);
		kl_buf_addf(buf, "\">K_%zu</a>", rejected->on);
	} else {
		kl_buf_adds(buf, "–");
	}
	kl_buf_addf(buf, "</td><td>%s: ", step->forward ? "forward" : "back");
	kl_page_or_dash(buf, step->forward && step->mechanism ? step->mechanism : step->action);
	kl_buf_adds(buf, "</td><td>");
	kl_page_or_dash(buf, step->locus);
	kl_buf_adds(buf, "</td><td class=\"fail\">");
	kl_page_or_dash(buf, step->class_);
	kl_buf_adds(buf, "</td><td>");
	add_reason(buf, rejected);
	kl_buf_adds(buf, "</td><td>");
	kl_page_commit(buf, content, &content->rejections.r[k].commit);
	kl_buf_adds(buf, "</td></tr>\n");
}

void kl_page_rejected(struct kl_buf *buf, const struct kl_report_content *content)
{
	if (!content->rejections.n)
		return;
	kl_buf_adds(buf,
		    "<h3>Rejected steps</h3>\n<div class=\"wide\" role=\"region\" tabindex=\"0\" "
		    "aria-label=\"table of rejected steps\"><table><thead><tr><th>no.</th>"
		    "<th>tried on</th><th>step</th><th>where</th><th>class</th>"
		    "<th>first wrong element, or reason</th><th>condition learned</th>"
		    "<th>commit</th></tr></thead><tbody>\n");
	for (size_t k = content->rejections.n; k-- > 0;)
		add_rejected(buf, content, k);
	kl_buf_adds(buf, "</tbody></table></div>\n");
}
