/* SPDX-License-Identifier: Apache-2.0 */
#include "report/page.h"

#include "text/html.h"

void kl_page_time(struct kl_buf *buf, int64_t ns)
{
	if (ns <= 0)
		kl_buf_adds(buf, "–");
	else if (ns >= 1000000)
		kl_buf_addf(buf, "%.3f ms", (double)ns / 1e6);
	else
		kl_buf_addf(buf, "%.2f µs", (double)ns / 1e3);
}

void kl_page_ratio(struct kl_buf *buf, const struct kl_ratio *ratio)
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

void kl_page_or_dash(struct kl_buf *buf, const char *text)
{
	if (text && *text)
		kl_html_add(buf, text);
	else
		kl_buf_adds(buf, "–");
}

void kl_page_pair(struct kl_buf *buf, const char *term, const char *text)
{
	if (!text || !*text)
		return;
	kl_buf_addf(buf, "<dt>%s</dt><dd>", term);
	kl_html_add(buf, text);
	kl_buf_adds(buf, "</dd>");
}

void kl_page_commit(struct kl_buf *buf, const struct kl_report_content *content,
		    const git_oid *commit)
{
	char hex[KL_OID_HEX];

	kl_oid_hex(hex, commit);
	if (!*content->forge) {
		kl_buf_addf(buf, "<code>%s</code>", hex);
		return;
	}
	kl_buf_adds(buf, "<a rel=\"noreferrer\" href=\"");
	kl_html_addf(buf, "%s%s", content->forge, hex);
	kl_buf_addf(buf, "\"><code>%s</code></a>", hex);
}
