/* SPDX-License-Identifier: Apache-2.0 */
#include "report/code.h"

#include <string.h>

#include "base/error.h"
#include "repo/blame.h"
#include "report/highlight.h"
#include "report/page.h"
#include "text/html.h"

static size_t state_of(const struct kl_view *view, const git_oid *commit)
{
	for (size_t i = 0; i < view->n; i++)
		if (!memcmp(&view->step[i].commit, commit, sizeof(*commit)))
			return i;
	return SIZE_MAX;
}

/* The class of a ground, by what the state gained against the one before it. */
static const char *ground_of(const struct kl_view *view, size_t i)
{
	const struct kl_view_step *step = i && i < view->n ? &view->step[i] : NULL;

	if (!step || (step->speed != KL_SPEED_FAST && step->speed != KL_SPEED_SLOW))
		return "";
	if (step->speed == KL_SPEED_SLOW)
		return "glost";
	return step->prev.ppm < 1100000 ? "g1" : step->prev.ppm < 1500000 ? "g2" : "g3";
}

/* Write the state that brought a block of lines: "K_8 wgmma 1.50×". */
static void add_origin(struct kl_buf *out, const struct kl_report_content *content, size_t i)
{
	const struct kl_view_step *step;
	char factor[24];

	if (i >= content->view->n)
		return;
	step = &content->view->step[i];
	kl_buf_adds(out, "<a href=\"#");
	kl_html_addf(out, "%s/K_%zu", content->id, i);
	kl_buf_addf(out, "\">K_%zu</a> ", i);
	kl_html_add(out, i ? kl_view_step_name(step) : "(simplest)");
	if (step->prev.ppm <= 0)
		return;
	kl_view_factor(factor, (double)step->prev.ppm / 1e6);
	kl_buf_addf(out, " %s×", factor);
}

static void add_lines(struct kl_buf *out, const struct kl_report_content *content,
		      const struct kl_file *file, const struct kl_blame *blame)
{
	struct kl_highlight state = { false };
	const char *at = file->data, *end = file->data + file->len;
	size_t last = SIZE_MAX - 1;

	for (size_t i = 0; i < blame->n && at < end; i++) {
		const char *nl = memchr(at, '\n', (size_t)(end - at));
		size_t n = (size_t)((nl ? nl : end) - at),
		       from = state_of(content->view, &blame->line[i]);

		kl_buf_addf(out, "<tr class=\"%s\"><td>", ground_of(content->view, from));
		if (from != last)
			add_origin(out, content, from);
		last = from;
		kl_buf_addf(out, "</td><td class=\"n\">%zu</td><td><code>", i + 1);
		kl_highlight_line(out, &state, at, n);
		kl_buf_adds(out, "</code></td></tr>\n");
		at += n + 1;
	}
}

int kl_report_code(struct kl_buf *out, struct kl_repo *repo,
		   const struct kl_report_content *content)
{
	const git_oid *tip = &content->view->step[content->view->n - 1].commit;

	if (!content->surface || out->len > KL_PAGE_MOST)
		return 0;
	kl_buf_adds(out,
		    "<h3>Code of the expert</h3>\n<p class=\"soft\">Each block of lines has the "
		    "state that brought it, and what this state gained. The ground is darker the "
		    "more it gained.</p>\n");
	for (size_t i = 0; i < content->surface->nfile; i++) {
		const struct kl_file *file = &content->surface->file[i];
		KL_AUTO(kl_blame_release) struct kl_blame blame = { 0 };
		int err = kl_repo_blame(&blame, repo, tip, file->path, NULL);

		if (err == KL_EINTR)
			return err;
		if (err < 0) { /* such as a binary file */
			kl_error_clear();
			continue;
		}
		kl_buf_adds(out, "<details class=\"source\"><summary>");
		kl_html_add(out, file->path);
		kl_buf_adds(out, "</summary>\n<table class=\"code\"><thead><tr><th>state</th>"
				 "<th class=\"n\">line</th><th>code</th></tr></thead><tbody>\n");
		add_lines(out, content, file, &blame);
		kl_buf_adds(out, "</tbody></table></details>\n");
	}
	return 0;
}
