/* SPDX-License-Identifier: Apache-2.0 */
#include "report/report.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "report/code.h"
#include "report/figure.h"
#include "report/maps.h"
#include "report/page.h"
#include "report/style.h"
#include "text/html.h"

static const char head[] =
	"<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
	"<meta http-equiv=\"Content-Security-Policy\" "
	"content=\"default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\">\n"
	"<meta name=\"referrer\" content=\"no-referrer\">\n"
	"<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n";

/* --- figures ------------------------------------------------------------------------------- */

/* Write a figure for wide and one for narrow screens; the style shows one of them. */
static void write_figure(struct kl_buf *buf, const struct kl_report_content *content,
			 void (*draw)(struct kl_drawing *, const struct kl_report_content *, int),
			 const char *caption)
{
	static const int widths[] = { KL_FIGURE_WIDTH, KL_FIGURE_COLUMN };

	kl_buf_adds(buf, "<figure>");
	for (size_t i = 0; i < 2; i++) {
		KL_AUTO(kl_drawing_release) struct kl_drawing drawing = { 0 };

		draw(&drawing, content, widths[i]);
		kl_buf_adds(buf, i ? "<div class=\"slim\">" : "<div class=\"full\">");
		kl_drawing_svg(buf, &drawing);
		kl_buf_adds(buf, "</div>");
	}
	kl_buf_addf(buf, "<figcaption>%s</figcaption></figure>\n", caption);
}

static int write_cost(struct kl_buf *buf, struct kl_repo *repo,
		      const struct kl_report_content *content)
{
	KL_AUTO(kl_ledger_release) struct kl_ledger ledger = { 0 };
	KL_AUTO(kl_drawing_release) struct kl_drawing drawing = { 0 };
	int err = kl_ledger_load(&ledger, repo, content->view->workload);

	if (err < 0) { /* leave this figure out; fsck reports a ledger that cannot be read */
		kl_error_clear();
		return err == KL_EINTR ? err : 0;
	}
	if (!kl_figure_cost(&drawing, content, &ledger, KL_FIGURE_WIDTH)) {
		kl_buf_adds(buf, "<p>No money was spent on language models here.</p>\n");
		return 0;
	}
	kl_buf_adds(buf, "<figure>");
	kl_drawing_svg(buf, &drawing);
	kl_buf_adds(buf, "<figcaption>Speed of the best re-derived state against the money spent "
			 "on language models up to then.</figcaption></figure>\n");
	return 0;
}

static int write_figures(struct kl_buf *buf, struct kl_repo *repo,
			 const struct kl_report_content *content)
{
	write_figure(
		buf, content, kl_figure_share,
		"Speed of each state in percent of the reference, with its interval. Each cross "
		"is a step that was rejected at that state; it leads to the reason.");
	kl_buf_adds(buf, "<details><summary>speed against K_0</summary>\n");
	write_figure(
		buf, content, kl_figure_trace,
		"Speed of each state against K_0: the product of the speed ratios of all steps "
		"up to it. The half-widths of their logarithms are added in quadrature.");
	kl_buf_adds(buf, "</details>\n");
	write_figure(buf, content, kl_figure_steps,
		     "Speed of each state against the previous one. A filled bar is a gain, an "
		     "outlined bar a loss.");
	return write_cost(buf, repo, content);
}

/* --- the page ------------------------------------------------------------------------------ */

/* Write the result in a sentence. */
static void write_lead(struct kl_buf *buf, const struct kl_report_content *content)
{
	const struct kl_view *view = content->view;
	const struct kl_view_step *best = &view->step[view->n - 1];
	char factor[24];

	kl_buf_addf(buf, "<p>%zu step%s, ", view->n - 1, view->n == 2 ? "" : "s");
	kl_page_or_dash(buf, view->step[0].step.termination);
	kl_buf_addf(buf, "; %zu rejected.", view->rejected);
	if (content->speed[view->n - 1].share.ppm > 0 && *content->reference) {
		int64_t ppm = content->speed[view->n - 1].share.ppm;

		kl_buf_addf(buf, " The expert is at %s%.2f of the speed of ",
			    ppm < 10000 ? "less than " : "",
			    ppm < 10000 ? 0.01 : (double)ppm / 1e6);
		kl_html_add(buf, content->reference);
		kl_buf_addch(buf, '.');
	}
	if (best->root.ppm > 0) {
		kl_view_factor(factor, (double)best->root.ppm / 1e6);
		kl_buf_addf(buf, " It has %s times the speed of K_0.", factor);
	}
	kl_buf_adds(buf, "</p>\n");
}

static int write_lineage(struct kl_buf *buf, struct kl_repo *repo,
			 const struct kl_report_content *content)
{
	const struct kl_view *view = content->view;
	int err;

	kl_buf_adds(buf, "<h2 id=\"");
	kl_html_add(buf, content->id);
	kl_buf_adds(buf, "\">");
	kl_html_add(buf, content->id);
	kl_buf_adds(buf, "</h2>\n");
	write_lead(buf, content);
	kl_page_head(buf, content);
	if ((err = write_figures(buf, repo, content)) < 0)
		return err;
	kl_page_states(buf, content);
	kl_page_rejected(buf, content);
	if ((err = kl_report_maps(buf, repo, view)) < 0 ||
	    (err = kl_report_code(buf, repo, content)) < 0)
		return err;
	kl_buf_adds(buf, "<h3>Steps</h3>\n");
	for (size_t i = 0; i < view->n; i++)
		if ((err = kl_page_state(buf, repo, content, i)) < 0)
			return kl_error_in(err, "%s K_%zu", view->ref, i);
	return 0;
}

/* Write the contents of a page of several lineages, and the first of them in one figure. */
static void write_overview(struct kl_buf *buf, const struct kl_report_content *content, size_t n)
{
	static const int widths[] = { KL_FIGURE_WIDTH, KL_FIGURE_COLUMN };

	kl_buf_adds(buf, "<ul>\n");
	for (size_t i = 0; i < n; i++) {
		kl_buf_adds(buf, "<li><a href=\"#");
		kl_html_add(buf, content[i].id);
		kl_buf_adds(buf, "\">");
		kl_html_add(buf, content[i].id);
		kl_buf_adds(buf, "</a>");
		if (*content[i].device)
			kl_html_addf(buf, " on %s", content[i].device);
		kl_buf_adds(buf, "</li>\n");
	}
	kl_buf_adds(buf, "</ul>\n<figure>");
	for (size_t i = 0; i < 2; i++) {
		KL_AUTO(kl_drawing_release) struct kl_drawing drawing = { 0 };

		kl_figure_lineages(&drawing, content, n, widths[i]);
		kl_buf_adds(buf, i ? "<div class=\"slim\">" : "<div class=\"full\">");
		kl_drawing_svg(buf, &drawing);
		kl_buf_adds(buf, "</div>");
	}
	kl_buf_addf(
		buf,
		"<figcaption>Speeds in percent of each lineage's own reference, so that only "
		"lineages with the same reference on the same device can be compared by height.%s"
		"</figcaption></figure>\n",
		n > KL_FIGURE_LINEAGES ? " The figure has the first three lineages." : "");
}

/* Write what the page is about: "cuda-gemm/x on NVIDIA H100", or the workload of several lineages. */
static void write_title(struct kl_buf *buf, const struct kl_report_content *content, size_t n)
{
	size_t same = 0;

	while (same < n && !strcmp(content[same].view->workload, content->view->workload))
		same++;
	if (n > 1 && same < n)
		kl_html_addf(buf, "%zu lineages", n);
	else
		kl_html_add(buf, n == 1 ? content->id : content->view->workload);
	if (n == 1 && *content->device)
		kl_html_addf(buf, " on %s", content->device);
}

int kl_report_html(struct kl_buf *out, struct kl_repo *repo, const struct kl_view *view, size_t n)
{
	struct kl_report_content *content = kl_calloc(n, sizeof(*content));
	size_t collected = 0;
	int err = 0;

	while (!err && collected < n)
		if (!(err = kl_report_collect(&content[collected], repo, &view[collected])))
			collected++;
	if (!err) {
		kl_buf_adds(out, head);
		kl_buf_adds(out, "<title>");
		write_title(out, content, n);
		kl_buf_adds(out, "</title>\n");
		kl_buf_adds(out, kl_report_style);
		kl_buf_adds(out, "</head><body>\n<h1>");
		write_title(out, content, n);
		kl_buf_adds(out, "</h1>\n<main>\n");
	}
	if (!err && n > 1)
		write_overview(out, content, n);
	for (size_t i = 0; i < n && !err; i++)
		err = write_lineage(out, repo, &content[i]);
	kl_buf_adds(out,
		    "</main>\n<footer class=\"soft\">Written by git klineage report " KL_VERSION
		    ".</footer>\n</body></html>\n");
	for (size_t i = 0; i < collected; i++)
		kl_report_content_release(&content[i]);
	free(content);
	return err;
}
