/* SPDX-License-Identifier: Apache-2.0 */
#include "report/report.h"

#include <string.h>

#include "base/error.h"
#include "report/figure.h"
#include "text/html.h"
#include "text/json.h"

#define MAX_DIFF ((size_t)256 << 10)
/* most bytes of a page; edits and evidence beyond this are left out, and a note says so */
#define MAX_PAGE ((size_t)32 << 20)

static const char head[] =
	"<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
	"<meta http-equiv=\"Content-Security-Policy\" "
	"content=\"default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\">\n"
	"<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n";

static const char style[] =
	"<style>\n"
	":root{color-scheme:light dark}\n"
	"body{font:15px/1.45 system-ui,sans-serif;max-width:1200px;margin:2em auto;padding:0 1em;"
	"overflow-wrap:anywhere}th,td{overflow-wrap:normal}\n"
	"h1{font-size:1.5em}h3{font-size:1.05em}\n"
	"h2{font-size:1.25em;margin-top:2.2em;border-bottom:1px solid #8886}\n"
	"table{border-collapse:collapse;width:100%;font-size:.92em}\n"
	"th,td{text-align:left;padding:.25em .6em;border-bottom:1px solid #8884;vertical-align:top}\n"
	"td.n{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}\n"
	"pre{overflow-x:auto;background:#8881;padding:.6em;tab-size:8;"
	"font:12px/1.35 ui-monospace,monospace}\n"
	"pre .add{color:#2b8a3e}pre .del{color:#c92a2a}pre .at{color:#0b7285}\n"
	"details{margin:.3em 0}summary{cursor:pointer}.wide{overflow-x:auto}\n"
	".pass{color:#2b8a3e}.fail{color:#c92a2a;font-weight:bold}.soft{opacity:.7}\n"
	"figure{margin:1em 0;overflow-x:auto}\n"
	"dl{display:grid;grid-template-columns:max-content 1fr;gap:.1em 1em}\n"
	"dt{opacity:.7}dd{margin:0;overflow-wrap:anywhere}\n"
	"@media print{details{display:block}}\n"
	"</style>\n";

/* --- writing values --------------------------------------------------------------- */

static void add_time(struct kl_buf *buf, int64_t ns)
{
	if (ns <= 0)
		kl_buf_adds(buf, "–");
	else if (ns >= 1000000)
		kl_buf_addf(buf, "%.3f ms", (double)ns / 1e6);
	else
		kl_buf_addf(buf, "%.2f µs", (double)ns / 1e3);
}

static void add_ratio(struct kl_buf *buf, const struct kl_ratio *ratio)
{
	char factor[24], lo[24], hi[24];

	if (ratio->ppm <= 0) {
		kl_buf_adds(buf, "–");
		return;
	}
	kl_view_factor(factor, (double)ratio->ppm / 1e6);
	kl_view_factor(lo, (double)ratio->lo / 1e6);
	kl_view_factor(hi, (double)ratio->hi / 1e6);
	kl_buf_addf(buf, "%s× <span class=\"soft\">[%s, %s]</span>", factor, lo, hi);
}

static void add_words(struct kl_buf *buf, const struct kl_strvec *list)
{
	for (size_t i = 0; i < list->n; i++) {
		kl_buf_adds(buf, i ? " " : "");
		kl_html_add(buf, list->v[i]);
	}
}

static void add_or_dash(struct kl_buf *buf, const char *text)
{
	if (text && *text)
		kl_html_add(buf, text);
	else
		kl_buf_adds(buf, "–");
}

static void write_pair(struct kl_buf *buf, const char *what, const char *text)
{
	if (!text || !*text)
		return;
	kl_buf_addf(buf, "<dt>%s</dt><dd>", what);
	kl_html_add(buf, text);
	kl_buf_adds(buf, "</dd>");
}

/* --- writing a state ----------------------------------------------------------------- */

static void add_diff(struct kl_buf *buf, const char *text, size_t len)
{
	bool cut = len > MAX_DIFF;
	size_t n;

	kl_buf_adds(buf, "<pre>");
	for (const char *at = text, *end = text + (cut ? MAX_DIFF : len); at < end; at += n + 1) {
		const char *nl = memchr(at, '\n', (size_t)(end - at));
		const char *class_ = *at == '+' ? "add" :
				     *at == '-' ? "del" :
				     *at == '@' ? "at" :
						  NULL;

		n = nl ? (size_t)(nl - at) : (size_t)(end - at);
		if (class_)
			kl_buf_addf(buf, "<span class=\"%s\">", class_);
		kl_html_addn(buf, at, n);
		kl_buf_adds(buf, class_ ? "</span>\n" : "\n");
	}
	kl_buf_adds(buf, "</pre>\n");
	if (cut)
		kl_buf_adds(buf, "<p class=\"soft\">… truncated</p>\n");
}

static int state_diff(struct kl_buf *buf, struct kl_repo *repo, const struct kl_view *view,
		      size_t i)
{
	KL_AUTO(kl_buf_release) struct kl_buf diff = KL_BUF_INIT;
	git_oid from, to;
	int err;

	if ((err = kl_repo_tree_of(&from, repo, &view->step[i - 1].commit)) < 0 ||
	    (err = kl_repo_tree_of(&to, repo, &view->step[i].commit)) < 0 ||
	    (err = kl_repo_diff(&diff, repo, &from, &to, NULL)) < 0)
		return err;
	kl_buf_adds(buf, "<details><summary>the edit</summary>\n");
	add_diff(buf, diff.ptr, diff.len);
	kl_buf_adds(buf, "</details>\n");
	return 0;
}

static void add_comparisons(struct kl_buf *buf, const struct kl_comparisons *vs)
{
	for (size_t i = 0; i < vs->n; i++) {
		const struct kl_comparison *comparison = &vs->v[i];

		kl_buf_adds(buf, "<dt>against ");
		kl_html_add(buf, *comparison->what ? comparison->what : "?");
		kl_buf_addf(buf, "</dt><dd>%.3f× [%.3f, %.3f] ",
			    (double)comparison->ratio.ppm / 1e6, (double)comparison->ratio.lo / 1e6,
			    (double)comparison->ratio.hi / 1e6);
		kl_html_add(buf, kl_speed_name(comparison->speed));
		kl_buf_adds(buf, "</dd>");
	}
}

/* Write the results of the gate, and the complete event. */
static void add_evidence(struct kl_buf *buf, const struct kl_event *event)
{
	KL_AUTO(kl_buf_release) struct kl_buf raw = KL_BUF_INIT;

	kl_buf_adds(buf, "<details><summary>gate evidence</summary><dl>");
	write_pair(buf, "verdict", kl_verdict_name(event->verdict));
	write_pair(buf, "class", kl_event_class(event));
	write_pair(buf, "tier", kl_tier_name(event->tier));
	write_pair(buf, "platform", event->place.id);
	write_pair(buf, "device", event->place.device);
	write_pair(buf, "compiler", event->place.compiler);
	if (json_is_object(event->correct))
		kl_buf_addf(buf,
			    "<dt>correct</dt><dd>%lld inputs; the largest error is %.2f of the "
			    "tolerance</dd>",
			    (long long)kl_json_int_or(event->correct, "cases", 0),
			    (double)kl_json_int_or(event->correct, "margin_ppm", 0) / 1e6);
	add_comparisons(buf, &event->profile.vs);
	write_pair(buf, "when", event->time);
	write_pair(buf, "event", event->id);
	kl_buf_adds(buf, "</dl><pre>");
	kl_event_write(&raw, event);
	kl_html_add(buf, raw.ptr);
	kl_buf_adds(buf, "</pre></details>\n");
}

static int state_section(struct kl_buf *buf, struct kl_repo *repo, const struct kl_view *view,
			 size_t i)
{
	const struct kl_view_step *step = &view->step[i];
	KL_AUTO(kl_event_freep) struct kl_event *event = NULL;
	char hex[KL_OID_HEX];
	int err;

	kl_oid_hex(hex, &step->commit);
	kl_buf_addf(buf, "<h3>K_%zu: ", i);
	add_or_dash(buf, step->step.text);
	kl_buf_adds(buf, "</h3><dl>");
	write_pair(buf, "commit", hex);
	write_pair(buf, "trait", step->step.trait);
	write_pair(buf, "confidence", step->step.confidence);
	write_pair(buf, "delta", step->step.delta);
	write_pair(buf, "claimed", step->step.claimed);
	write_pair(buf, "contradiction", step->step.contradiction);
	write_pair(buf, "rewriter", step->step.rewriter);
	write_pair(buf, "attempts", step->step.attempts);
	kl_buf_adds(buf, "</dl>\n");
	err = kl_view_event(&event, repo, &step->commit);
	if (err < 0 && err != KL_ENOTFOUND)
		return err;
	kl_error_clear();
	if (buf->len > MAX_PAGE) {
		kl_buf_adds(buf, "<p class=\"soft\">… omitted: the page is too large</p>\n");
		return 0;
	}
	if (event)
		add_evidence(buf, event);
	return i ? state_diff(buf, repo, view, i) : 0;
}

/* --- writing a lineage ------------------------------------------------------------------- */

static void state_row(struct kl_buf *buf, const struct kl_view_step *step, size_t i)
{
	const char *class_ = step->verdict == KL_VERDICT_PASS ? "pass" :
			     step->verdict == KL_VERDICT_FAIL ? "fail" :
								"soft";
	KL_AUTO(kl_freep) char *mechanism = kl_view_mechanism(step);

	kl_buf_addf(buf, "<tr><td>K_%zu</td><td>", i);
	add_or_dash(buf, i ? mechanism : NULL);
	kl_buf_adds(buf, "</td><td>");
	add_or_dash(buf, i ? step->step.action : "(simplest)");
	kl_buf_adds(buf, "</td><td>");
	add_or_dash(buf, i ? step->step.locus : NULL);
	kl_buf_adds(buf, "</td><td class=\"n\">");
	add_time(buf, step->ns);
	kl_buf_adds(buf, "</td><td class=\"n\">");
	add_ratio(buf, &step->prev);
	kl_buf_adds(buf, "</td><td class=\"n\">");
	add_ratio(buf, &step->root);
	kl_buf_adds(buf, "</td><td>");
	add_words(buf, &step->gained);
	if (step->lost.n) {
		kl_buf_adds(buf, " <del>");
		add_words(buf, &step->lost);
		kl_buf_adds(buf, "</del>");
	}
	kl_buf_adds(buf, "</td><td>");
	add_or_dash(buf, i ? step->step.derivation : NULL);
	kl_buf_addf(buf, "</td><td class=\"%s\">", class_);
	add_or_dash(buf, kl_verdict_name(step->verdict));
	kl_buf_adds(buf, "</td></tr>\n");
}

static void state_table(struct kl_buf *buf, const struct kl_view *view)
{
	kl_buf_adds(
		buf,
		"<div class=\"wide\"><table><thead><tr><th>state</th><th>mechanism</th>"
		"<th>undone by</th><th>where</th><th>time</th><th>× previous</th><th>× K_0</th>"
		"<th>facts gained, lost</th><th>derivation</th><th>verdict</th></tr></thead><tbody>\n");
	for (size_t i = 0; i < view->n; i++)
		state_row(buf, &view->step[i], i);
	kl_buf_adds(buf, "</tbody></table></div>\n");
}

static int write_rejections(struct kl_buf *buf, struct kl_repo *repo, const struct kl_view *view)
{
	struct kl_view_rejections all;
	int err = kl_view_rejections(&all, repo, view->workload, view->name);

	if (err < 0)
		return err;
	if (all.n)
		kl_buf_addf(
			buf,
			"<details><summary>%zu rejected</summary><div class=\"wide\"><table><thead>"
			"<tr><th>commit</th><th>direction</th><th>what</th><th>where</th><th>class</th>"
			"</tr></thead><tbody>\n",
			all.n);
	for (size_t i = all.n; i-- > 0;) {
		const struct kl_step *step = &all.r[i].step;
		char hex[KL_OID_HEX];

		kl_oid_hex(hex, &all.r[i].commit);
		kl_buf_addf(buf, "<tr><td><code>%.10s</code></td><td>%s</td><td>", hex,
			    step->forward ? "forward" : "back");
		add_or_dash(buf, step->forward && step->mechanism ? step->mechanism : step->action);
		kl_buf_adds(buf, "</td><td>");
		add_or_dash(buf, step->locus);
		kl_buf_adds(buf, "</td><td>");
		add_or_dash(buf, step->class_);
		kl_buf_adds(buf, "</td></tr>\n");
	}
	if (all.n)
		kl_buf_adds(buf, "</tbody></table></div></details>\n");
	kl_view_rejections_release(&all);
	return 0;
}

static int write_figures(struct kl_buf *buf, struct kl_repo *repo, const struct kl_view *view)
{
	KL_AUTO(kl_ledger_release) struct kl_ledger ledger = { 0 };
	int err = kl_ledger_load(&ledger, repo, view->workload);

	kl_buf_adds(buf, "<figure>");
	kl_figure_trace(buf, view);
	kl_buf_adds(
		buf,
		"<figcaption>Speed of each state against K_0: the product of the speed ratios of all "
		"steps up to it. The half-widths of their logarithms are added in quadrature."
		"</figcaption></figure>\n<figure>");
	kl_figure_steps(buf, view);
	kl_buf_adds(buf, "<figcaption>Speed of each state against the previous one.</figcaption>"
			 "</figure>\n");
	if (err < 0) { /* leave this figure out; fsck reports a ledger that cannot be read */
		kl_error_clear();
		return err == KL_EINTR ? err : 0;
	}
	kl_buf_adds(buf, "<figure>");
	if (kl_figure_cost(buf, view, &ledger))
		kl_buf_adds(
			buf,
			"<figcaption>Speed of the best re-derived state against the money spent "
			"on language models up to then.</figcaption>");
	else
		kl_buf_adds(buf,
			    "<figcaption>No money was spent on language models here.</figcaption>");
	kl_buf_adds(buf, "</figure>\n");
	return 0;
}

static int write_lineage(struct kl_buf *buf, struct kl_repo *repo, const struct kl_view *view,
			 const struct kl_buf *maps)
{
	const struct kl_step *root = &view->step[0].step;
	const struct kl_view_step *best = &view->step[view->n - 1];
	int err;

	kl_buf_adds(buf, "<h2>");
	kl_html_addf(buf, "%s/%s", view->workload, view->name);
	kl_buf_addf(buf, "</h2>\n<p>%zu step%s on ", view->n - 1, view->n == 2 ? "" : "s");
	add_or_dash(buf, root->platform);
	kl_buf_adds(buf, ", ");
	add_or_dash(buf, root->termination);
	kl_buf_addf(buf, "; %zu rejected.", view->rejected);
	if (best->baseline_ppm > 0) {
		kl_buf_addf(buf, " The expert is at %.2f of the speed of ",
			    (double)best->baseline_ppm / 1e6);
		kl_html_add(buf, best->baseline);
		kl_buf_addch(buf, '.');
	}
	kl_buf_adds(buf, "</p>\n");
	if ((err = write_figures(buf, repo, view)) < 0)
		return err;
	state_table(buf, view);
	if ((err = write_rejections(buf, repo, view)) < 0)
		return err;
	if (maps)
		kl_buf_add(buf, maps->ptr, maps->len);
	for (size_t i = 0; i < view->n; i++)
		if ((err = state_section(buf, repo, view, i)) < 0)
			return kl_error_in(err, "%s K_%zu", view->ref, i);
	return 0;
}

int kl_report_html(struct kl_buf *out, struct kl_repo *repo, const struct kl_view *view, size_t n,
		   const struct kl_buf *maps)
{
	int err = 0;

	kl_buf_adds(out, head);
	kl_buf_adds(out, "<title>");
	kl_html_add(out, n == 1 ? view->name : view->workload);
	kl_buf_adds(out, "</title>\n");
	kl_buf_adds(out, style);
	kl_buf_adds(out, "</head><body>\n<h1>");
	kl_html_add(out, view->workload);
	kl_buf_adds(out, "</h1>\n");
	for (size_t i = 0; i < n && !err; i++)
		err = write_lineage(out, repo, &view[i], maps ? &maps[i] : NULL);
	kl_buf_adds(out, "<p class=\"soft\">Written by git klineage report " KL_VERSION ".</p>\n"
			 "</body></html>\n");
	return err;
}
