/* SPDX-License-Identifier: Apache-2.0 */
/* page_state - one state in detail on a page: its commit, its conditions, its edit, its evidence */
#include <string.h>

#include "base/error.h"
#include "report/page.h"
#include "report/side.h"
#include "text/html.h"
#include "text/json.h"

#define MAX_DIFF ((size_t)256 << 10)

static void add_diff(struct kl_buf *buf, const char *text, size_t len)
{
	bool cut = len > MAX_DIFF;

	kl_side_by_side(buf, text, cut ? MAX_DIFF : len);
	if (cut)
		kl_buf_adds(buf, "<p class=\"soft\">… truncated</p>\n");
}

static int add_edit(struct kl_buf *buf, struct kl_repo *repo, const struct kl_view *view, size_t i)
{
	KL_AUTO(kl_buf_release) struct kl_buf diff = KL_BUF_INIT;
	git_oid from, to;
	int err;

	if ((err = kl_repo_tree_of(&from, repo, &view->step[i - 1].commit)) < 0 ||
	    (err = kl_repo_tree_of(&to, repo, &view->step[i].commit)) < 0 ||
	    (err = kl_repo_diff(&diff, repo, &from, &to, NULL)) < 0)
		return err;
	kl_buf_adds(buf, "<details class=\"source\"><summary>the edit</summary>\n");
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

/* Write the results of the gate, and the complete event, indented. */
static void add_evidence(struct kl_buf *buf, const struct kl_event *event)
{
	KL_AUTO(kl_buf_release) struct kl_buf raw = KL_BUF_INIT;

	kl_buf_adds(buf, "<details><summary>gate evidence</summary><dl>");
	kl_page_pair(buf, "verdict", kl_verdict_name(event->verdict));
	kl_page_pair(buf, "class", kl_event_class(event));
	kl_page_pair(buf, "tier", kl_tier_name(event->tier));
	kl_page_pair(buf, "platform", event->place.id);
	kl_page_pair(buf, "device", event->place.device);
	kl_page_pair(buf, "compiler", event->place.compiler);
	if (json_is_object(event->correct))
		kl_buf_addf(buf,
			    "<dt>correct</dt><dd>%lld inputs; the largest error is %.2f of the "
			    "tolerance</dd>",
			    (long long)kl_json_int_or(event->correct, "cases", 0),
			    (double)kl_json_int_or(event->correct, "margin_ppm", 0) / 1e6);
	if (event->profile.there)
		kl_buf_addf(buf, "<dt>noise</dt><dd>%.2f %%, the kernel compared with itself</dd>",
			    (double)event->profile.aa_ppm / 1e4);
	add_comparisons(buf, &event->profile.vs);
	kl_page_pair(buf, "when", event->time);
	kl_page_pair(buf, "event", event->id);
	kl_buf_adds(
		buf,
		"</dl><details class=\"raw\"><summary>the event as it is stored</summary><pre>");
	kl_event_write(&raw, event);
	kl_html_add(buf, raw.ptr);
	kl_buf_adds(buf, "</pre></details></details>\n");
}

static void add_card(struct kl_buf *buf, const struct kl_card *card)
{
	kl_buf_adds(buf, "<dt>card</dt><dd>");
	kl_html_addf(buf, "%s: %s", card->id, card->intent ? card->intent : "");
	for (size_t i = 0; i < card->sound.n; i++) {
		const struct kl_card_pre *pre = &card->sound.v[i];

		if (!kl_card_pre_counts(pre))
			continue;
		kl_buf_adds(buf, "<br>needs: ");
		kl_html_add(buf, pre->text ? pre->text : pre->id);
		kl_buf_addf(buf, " (%s)", pre->state == KL_PRE_WITNESSED ? "witnessed" : "assumed");
	}
	kl_buf_adds(buf, "</dd>");
}

static void add_facts(struct kl_buf *buf, const struct kl_report_content *content, size_t i)
{
	const struct kl_view_step *step = &content->view->step[i];

	kl_buf_adds(buf, "<dl><dt>commit</dt><dd>");
	kl_page_commit(buf, content, &step->commit);
	kl_buf_adds(buf, "</dd>");
	kl_page_pair(buf, "inverse of", i ? step->step.action : NULL);
	kl_page_pair(buf, "trait", step->step.trait);
	kl_page_pair(buf, "confidence", step->step.confidence);
	kl_page_pair(buf, "delta", step->step.delta);
	kl_page_pair(buf, "claimed", step->step.claimed);
	kl_page_pair(buf, "contradiction", step->step.contradiction);
	kl_page_pair(buf, "rewriter", step->step.rewriter);
	kl_page_pair(buf, "attempts", step->step.attempts);
	for (size_t k = 0; i && k < content->ncard; k++)
		if (kl_report_is_evidence(content->card[k], content->view, i))
			add_card(buf, content->card[k]);
	for (size_t k = content->rejections.n; k-- > 0;)
		if (content->rejected[k].on == i) {
			size_t number = content->rejections.n - k;

			kl_buf_adds(buf, "<dt>rejected here</dt><dd><a href=\"#");
			kl_html_addf(buf, "%s/rejected-%zu", content->id, number);
			kl_buf_addf(buf, "\">no. %zu: ", number);
			kl_page_or_dash(buf, content->rejections.r[k].step.action);
			kl_buf_adds(buf, ", ");
			kl_page_or_dash(buf, content->rejections.r[k].step.class_);
			kl_buf_adds(buf, "</a></dd>");
		}
	kl_buf_adds(buf, "</dl>\n");
}

int kl_page_state(struct kl_buf *buf, struct kl_repo *repo, const struct kl_report_content *content,
		  size_t i)
{
	const struct kl_view *view = content->view;
	KL_AUTO(kl_event_freep) struct kl_event *event = NULL;
	int err;

	kl_buf_adds(buf, "<h4 id=\"");
	kl_html_addf(buf, "%s/K_%zu", content->id, i);
	kl_buf_adds(buf, "\"><a href=\"#");
	kl_html_addf(buf, "%s/K_%zu", content->id, i);
	kl_buf_addf(buf, "\">K_%zu</a>: ", i);
	kl_page_or_dash(buf, view->step[i].step.text);
	kl_buf_adds(buf, "</h4>\n");
	add_facts(buf, content, i);
	err = kl_view_event(&event, repo, &view->step[i].commit);
	if (err < 0 && err != KL_ENOTFOUND)
		return err;
	kl_error_clear();
	if (buf->len > KL_PAGE_MOST) {
		kl_buf_adds(buf, "<p class=\"soft\">… omitted: the page is too large</p>\n");
		return 0;
	}
	if (event)
		add_evidence(buf, event);
	return i ? add_edit(buf, repo, view, i) : 0;
}
