/* SPDX-License-Identifier: Apache-2.0 */
/* study_report_html - writes the report of a study as an HTML page with figures */
#include <string.h>

#include "base/prefix.h"
#include "study/study_figure.h"
#include "study/study_report.h"
#include "text/html.h"

static const char head[] =
	"<meta charset=\"utf-8\">\n"
	"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
	"style-src 'unsafe-inline'\">\n"
	"<meta name=\"viewport\" content=\"width=device-width\">\n"
	"<style>:root{color-scheme:light dark}"
	"body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;"
	"color:CanvasText;background:Canvas}svg{width:100%;height:auto}"
	".wide{overflow-x:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums}"
	"th,td{padding:.2rem .6rem;text-align:right;border-bottom:1px solid #888}"
	"th:first-child,td:first-child{text-align:left}</style>\n";

/* Append a line, with `**` and `*` around words and `` ` `` around code turned into elements. */
static void add_line(struct kl_buf *out, const char *text, size_t len)
{
	static const struct {
		const char *mark, *element;
	} marks[] = { { "**", "strong" }, { "*", "em" }, { "`", "code" } };
	bool open[KL_ARRAY_SIZE(marks)] = { false };

	for (size_t i = 0; i < len;) {
		size_t kind = 0;

		while (kind < KL_ARRAY_SIZE(marks) && !kl_prefix_has(text + i, marks[kind].mark))
			kind++;
		if (kind < KL_ARRAY_SIZE(marks)) {
			kl_buf_addf(out, "<%s%s>", open[kind] ? "/" : "", marks[kind].element);
			open[kind] = !open[kind];
			i += strlen(marks[kind].mark);
		} else {
			size_t n = strcspn(text + i, "*`");

			n = n < len - i ? n : len - i;
			kl_html_addn(out, text + i, n);
			i += n;
		}
	}
	for (size_t kind = KL_ARRAY_SIZE(marks); kind--;)
		if (open[kind])
			kl_buf_addf(out, "</%s>", marks[kind].element);
}

/* Append a row "| a | b |". */
static void add_row(struct kl_buf *out, const char *line, size_t len, const char *element)
{
	kl_buf_adds(out, "<tr>");
	for (size_t at = 2; at < len;) {
		const char *bar = memchr(line + at, '|', len - at);
		size_t end = bar ? (size_t)(bar - line) : len;

		kl_buf_addf(out, "<%s>", element);
		add_line(out, line + at, end > at ? end - at - 1 : 0);
		kl_buf_addf(out, "</%s>", element);
		at = end + 2;
	}
	kl_buf_adds(out, "</tr>\n");
}

/* Convert the Markdown of a report: headings, paragraphs of one line, and tables. */
static void add_markdown(struct kl_buf *out, const char *text)
{
	bool in_table = false;

	for (size_t len; *text; text += len + (text[len] == '\n')) {
		bool is_row = *text == '|';

		len = strcspn(text, "\n");
		if (in_table && !is_row)
			kl_buf_adds(out, "</table></div>\n");
		if (is_row && !in_table)
			kl_buf_adds(out, "<div class=\"wide\"><table>\n");
		if (is_row && !kl_prefix_has(text, "| ---"))
			add_row(out, text, len, in_table ? "td" : "th");
		in_table = is_row;
		if (is_row || !len)
			continue;
		if (*text == '#' && text[strspn(text, "#")] == ' ') {
			size_t level = strspn(text, "#");

			kl_buf_addf(out, "<h%zu>", level);
			add_line(out, text + level + 1, len - level - 1);
			kl_buf_addf(out, "</h%zu>\n", level);
		} else {
			kl_buf_adds(out, "<p>");
			add_line(out, text, len);
			kl_buf_adds(out, "</p>\n");
		}
	}
	if (in_table)
		kl_buf_adds(out, "</table></div>\n");
}

void kl_study_report_html(struct kl_buf *out, const json_t *report)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	const char *figures;

	kl_study_report_markdown(&text, report);
	kl_buf_adds(out, "<!doctype html>\n<html lang=\"en\"><head><title>Study ");
	kl_html_add(out, kl_json_str_or(report, "study", ""));
	kl_buf_addf(out, "</title>\n%s</head><body>\n", head);
	/* the figures come before the first table */
	figures = strstr(text.ptr, "## ");
	if (figures) {
		KL_AUTO(kl_freep) char *intro = kl_strndup(text.ptr, (size_t)(figures - text.ptr));

		add_markdown(out, intro);
	}
	kl_study_figure(out, report, KL_FIGURE_CANDIDATES);
	kl_study_figure(out, report, KL_FIGURE_DOLLARS);
	add_markdown(out, figures ? figures : text.ptr);
	kl_buf_adds(out, "</body></html>\n");
}

void kl_study_report_svg(struct kl_buf *out, const json_t *report)
{
	kl_study_figure(out, report, KL_FIGURE_CANDIDATES);
}
