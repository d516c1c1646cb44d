/* SPDX-License-Identifier: Apache-2.0 */
#include "lineage/report.h"

#include <string.h>

#include "base/error.h"
#include "lineage/figure.h"
#include "text/html.h"
#include "text/json.h"

#define MAX_DIFF ((size_t)256 << 10)
#define MAX_PAGE ((size_t)32 << 20) /* beyond it edits and evidence are left out, said so */

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

/* --- bits ---------------------------------------------------------------------- */

static void add_time(struct kl_buf *b, int64_t ns)
{
	if (ns <= 0)
		kl_buf_adds(b, "–");
	else if (ns >= 1000000)
		kl_buf_addf(b, "%.3f ms", (double)ns / 1e6);
	else
		kl_buf_addf(b, "%.2f µs", (double)ns / 1e3);
}

static void add_ratio(struct kl_buf *b, const struct kl_ratio *r)
{
	char x[24], lo[24], hi[24];

	if (r->ppm <= 0) {
		kl_buf_adds(b, "–");
		return;
	}
	kl_view_factor(x, (double)r->ppm / 1e6);
	kl_view_factor(lo, (double)r->lo / 1e6);
	kl_view_factor(hi, (double)r->hi / 1e6);
	kl_buf_addf(b, "%s× <span class=\"soft\">[%s, %s]</span>", x, lo, hi);
}

static void add_words(struct kl_buf *b, const struct kl_strvec *v)
{
	for (size_t i = 0; i < v->n; i++) {
		kl_buf_adds(b, i ? " " : "");
		kl_html_add(b, v->v[i]);
	}
}

static void add_or_dash(struct kl_buf *b, const char *s)
{
	if (s && *s)
		kl_html_add(b, s);
	else
		kl_buf_adds(b, "–");
}

static void write_pair(struct kl_buf *b, const char *what, const char *text)
{
	if (!text || !*text)
		return;
	kl_buf_addf(b, "<dt>%s</dt><dd>", what);
	kl_html_add(b, text);
	kl_buf_adds(b, "</dd>");
}

/* --- one state -------------------------------------------------------------------- */

static void add_diff(struct kl_buf *b, const char *text, size_t len)
{
	bool cut = len > MAX_DIFF;
	size_t n;

	kl_buf_adds(b, "<pre>");
	for (const char *p = text, *end = text + (cut ? MAX_DIFF : len); p < end; p += n + 1) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));
		const char *class_ = *p == '+' ? "add" :
				     *p == '-' ? "del" :
				     *p == '@' ? "at" :
						 NULL;

		n = nl ? (size_t)(nl - p) : (size_t)(end - p);
		if (class_)
			kl_buf_addf(b, "<span class=\"%s\">", class_);
		kl_html_addn(b, p, n);
		kl_buf_adds(b, class_ ? "</span>\n" : "\n");
	}
	kl_buf_adds(b, "</pre>\n");
	if (cut)
		kl_buf_adds(b, "<p class=\"soft\">… the rest is left out</p>\n");
}

static int state_diff(struct kl_buf *b, struct kl_repo *r, const struct kl_view *v, size_t i)
{
	KL_AUTO(kl_buf_release) struct kl_buf diff = KL_BUF_INIT;
	git_oid from, to;
	int err;

	if ((err = kl_repo_tree_of(&from, r, &v->step[i - 1].commit)) < 0 ||
	    (err = kl_repo_tree_of(&to, r, &v->step[i].commit)) < 0 ||
	    (err = kl_repo_diff(&diff, r, &from, &to, NULL)) < 0)
		return err;
	kl_buf_adds(b, "<details><summary>the edit</summary>\n");
	add_diff(b, diff.ptr, diff.len);
	kl_buf_adds(b, "</details>\n");
	return 0;
}

static void add_comparisons(struct kl_buf *b, const struct kl_comparisons *vs)
{
	for (size_t i = 0; i < vs->n; i++) {
		const struct kl_comparison *c = &vs->v[i];

		kl_buf_adds(b, "<dt>against ");
		kl_html_add(b, *c->what ? c->what : "?");
		kl_buf_addf(b, "</dt><dd>%.3f× [%.3f, %.3f] ", (double)c->ratio_ppm / 1e6,
			    (double)c->lo_ppm / 1e6, (double)c->hi_ppm / 1e6);
		kl_html_add(b, kl_speed_name(c->speed));
		kl_buf_adds(b, "</dd>");
	}
}

/* What the gate found, and the event whole. */
static void add_evidence(struct kl_buf *b, const struct kl_event *event)
{
	KL_AUTO(kl_buf_release) struct kl_buf raw = KL_BUF_INIT;

	kl_buf_adds(b, "<details><summary>what the gate found</summary><dl>");
	write_pair(b, "verdict", kl_verdict_name(event->verdict));
	write_pair(b, "class", kl_event_class(event));
	write_pair(b, "tier", kl_tier_name(event->tier));
	write_pair(b, "platform", event->place.id);
	write_pair(b, "device", event->place.device);
	write_pair(b, "compiler", event->place.compiler);
	if (json_is_object(event->correct))
		kl_buf_addf(b,
			    "<dt>correct</dt><dd>%lld inputs, the worst error is %.2f of what is "
			    "allowed</dd>",
			    (long long)kl_json_int_or(event->correct, "cases", 0),
			    (double)kl_json_int_or(event->correct, "margin_ppm", 0) / 1e6);
	add_comparisons(b, &event->profile.vs);
	write_pair(b, "when", event->time);
	write_pair(b, "event", event->id);
	kl_buf_adds(b, "</dl><pre>");
	kl_event_write(&raw, event);
	kl_html_add(b, raw.ptr);
	kl_buf_adds(b, "</pre></details>\n");
}

static int state_section(struct kl_buf *b, struct kl_repo *r, const struct kl_view *v, size_t i)
{
	const struct kl_view_step *s = &v->step[i];
	KL_AUTO(kl_event_freep) struct kl_event *event = NULL;
	char hex[KL_OID_HEX];
	int err;

	kl_oid_hex(hex, &s->commit);
	kl_buf_addf(b, "<h3>K_%zu: ", i);
	add_or_dash(b, s->step.text);
	kl_buf_adds(b, "</h3><dl>");
	write_pair(b, "commit", hex);
	write_pair(b, "trait", s->step.trait);
	write_pair(b, "delta", s->step.delta);
	write_pair(b, "rewriter", s->step.rewriter);
	write_pair(b, "attempts", s->step.attempts);
	kl_buf_adds(b, "</dl>\n");
	err = kl_view_event(&event, r, &s->commit);
	if (err < 0 && err != KL_ENOTFOUND)
		return err;
	kl_error_clear();
	if (b->len > MAX_PAGE) {
		kl_buf_adds(b, "<p class=\"soft\">… left out: the page is long enough</p>\n");
		return 0;
	}
	if (event)
		add_evidence(b, event);
	return i ? state_diff(b, r, v, i) : 0;
}

/* --- a lineage ------------------------------------------------------------------------- */

static void state_row(struct kl_buf *b, const struct kl_view_step *s, size_t i)
{
	const char *class_ = s->verdict == KL_VERDICT_PASS ? "pass" :
			     s->verdict == KL_VERDICT_FAIL ? "fail" :
							     "soft";

	kl_buf_addf(b, "<tr><td>K_%zu</td><td>", i);
	add_or_dash(b, i ? s->step.mechanism : NULL);
	kl_buf_adds(b, "</td><td>");
	add_or_dash(b, i ? s->step.action : "(simplest)");
	kl_buf_adds(b, "</td><td>");
	add_or_dash(b, i ? s->step.locus : NULL);
	kl_buf_adds(b, "</td><td class=\"n\">");
	add_time(b, s->ns);
	kl_buf_adds(b, "</td><td class=\"n\">");
	add_ratio(b, &s->prev);
	kl_buf_adds(b, "</td><td class=\"n\">");
	add_ratio(b, &s->root);
	kl_buf_adds(b, "</td><td>");
	add_words(b, &s->gained);
	if (s->lost.n) {
		kl_buf_adds(b, " <del>");
		add_words(b, &s->lost);
		kl_buf_adds(b, "</del>");
	}
	kl_buf_adds(b, "</td><td>");
	add_or_dash(b, i ? s->step.derivation : NULL);
	kl_buf_addf(b, "</td><td class=\"%s\">", class_);
	add_or_dash(b, kl_verdict_name(s->verdict));
	kl_buf_adds(b, "</td></tr>\n");
}

static void state_table(struct kl_buf *b, const struct kl_view *v)
{
	kl_buf_adds(
		b,
		"<div class=\"wide\"><table><thead><tr><th>state</th><th>mechanism</th>"
		"<th>undone by</th><th>where</th><th>time</th><th>× the one before</th><th>× K_0</th>"
		"<th>facts gained, lost</th><th>derivation</th><th>verdict</th></tr></thead><tbody>\n");
	for (size_t i = 0; i < v->n; i++)
		state_row(b, &v->step[i], i);
	kl_buf_adds(b, "</tbody></table></div>\n");
}

static int write_rejections(struct kl_buf *b, struct kl_repo *r, const struct kl_view *v)
{
	struct kl_view_rejections all;
	int err = kl_view_rejections(&all, r, v->workload, v->name);

	if (err < 0)
		return err;
	if (all.n)
		kl_buf_addf(
			b,
			"<details><summary>%zu rejected</summary><div class=\"wide\"><table><thead>"
			"<tr><th>commit</th><th>direction</th><th>what</th><th>where</th><th>class</th>"
			"</tr></thead><tbody>\n",
			all.n);
	for (size_t i = all.n; i-- > 0;) {
		const struct kl_step *s = &all.r[i].step;
		char hex[KL_OID_HEX];

		kl_oid_hex(hex, &all.r[i].commit);
		kl_buf_addf(b, "<tr><td><code>%.10s</code></td><td>%s</td><td>", hex,
			    s->forward ? "forward" : "back");
		add_or_dash(b, s->forward && s->mechanism ? s->mechanism : s->action);
		kl_buf_adds(b, "</td><td>");
		add_or_dash(b, s->locus);
		kl_buf_adds(b, "</td><td>");
		add_or_dash(b, s->class_);
		kl_buf_adds(b, "</td></tr>\n");
	}
	if (all.n)
		kl_buf_adds(b, "</tbody></table></div></details>\n");
	kl_view_rejections_release(&all);
	return 0;
}

static int write_figures(struct kl_buf *b, struct kl_repo *r, const struct kl_view *v)
{
	KL_AUTO(kl_ledger_release) struct kl_ledger l = { 0 };
	int err = kl_ledger_load(&l, r, v->workload);

	kl_buf_adds(b, "<figure>");
	kl_figure_trace(b, v);
	kl_buf_adds(
		b,
		"<figcaption>Speed against K_0, state by state: log-ratios from state to state add, "
		"their half-widths in quadrature.</figcaption></figure>\n<figure>");
	kl_figure_steps(b, v);
	kl_buf_adds(b, "<figcaption>What each state brought against the one before.</figcaption>"
		       "</figure>\n");
	if (err < 0) { /* a ledger that cannot be read is fsck's business */
		kl_error_clear();
		return err == KL_EINTR ? err : 0;
	}
	kl_buf_adds(b, "<figure>");
	if (kl_figure_cost(b, v, &l))
		kl_buf_adds(
			b,
			"<figcaption>The best state that was derived anew, against what had been "
			"spent on language models by then.</figcaption>");
	else
		kl_buf_adds(b,
			    "<figcaption>No money was spent on language models here.</figcaption>");
	kl_buf_adds(b, "</figure>\n");
	return 0;
}

static int write_lineage(struct kl_buf *b, struct kl_repo *r, const struct kl_view *v)
{
	const struct kl_step *root = &v->step[0].step;
	const struct kl_view_step *best = &v->step[v->n - 1];
	int err;

	kl_buf_adds(b, "<h2>");
	kl_html_addf(b, "%s/%s", v->workload, v->name);
	kl_buf_addf(b, "</h2>\n<p>%zu step%s on ", v->n - 1, v->n == 2 ? "" : "s");
	add_or_dash(b, root->platform);
	kl_buf_adds(b, ", ");
	add_or_dash(b, root->termination);
	kl_buf_addf(b, "; %zu rejected.", v->rejected);
	if (best->baseline_ppm > 0) {
		kl_buf_addf(b, " The expert is at %.2f of the speed of ",
			    (double)best->baseline_ppm / 1e6);
		kl_html_add(b, best->baseline);
		kl_buf_addch(b, '.');
	}
	kl_buf_adds(b, "</p>\n");
	if ((err = write_figures(b, r, v)) < 0)
		return err;
	state_table(b, v);
	if ((err = write_rejections(b, r, v)) < 0)
		return err;
	for (size_t i = 0; i < v->n; i++)
		if ((err = state_section(b, r, v, i)) < 0)
			return kl_error_in(err, "%s K_%zu", v->ref, i);
	return 0;
}

int kl_report_html(struct kl_buf *out, struct kl_repo *r, const struct kl_view *v, size_t n)
{
	int err = 0;

	kl_buf_adds(out, head);
	kl_buf_adds(out, "<title>");
	kl_html_add(out, n == 1 ? v->name : v->workload);
	kl_buf_adds(out, "</title>\n");
	kl_buf_adds(out, style);
	kl_buf_adds(out, "</head><body>\n<h1>");
	kl_html_add(out, v->workload);
	kl_buf_adds(out, "</h1>\n");
	for (size_t i = 0; i < n && !err; i++)
		err = write_lineage(out, r, &v[i]);
	kl_buf_adds(out, "<p class=\"soft\">Written by git klineage report " KL_VERSION ".</p>\n"
			 "</body></html>\n");
	return err;
}
