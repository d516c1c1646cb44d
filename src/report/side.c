/* SPDX-License-Identifier: Apache-2.0 */
#include "report/side.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "report/highlight.h"
#include "text/html.h"

#define CHANGED 1000 /* most lines that are paired at once; further ones begin a new block */

/* A line of a diff, without its sign. */
struct line {
	const char *text;
	size_t len;
};

/* The hunk that is being written. */
struct hunk {
	struct kl_buf rows;
	long old_number, new_number; /* of the next line */
	struct kl_highlight old_state, new_state;
	struct kl_highlight old_scan, new_scan; /* as old_state and new_state, to find comments */
	struct line gone[CHANGED], added[CHANGED];
	size_t ngone, nadded;
	bool open, comments; /* `comments`: only comments changed so far */
	char *heading;
};

static void add_cell(struct kl_buf *out, const struct line *line, long number, char sign,
		     struct kl_highlight *state)
{
	if (!line) {
		kl_buf_adds(out, "<code class=\"none\"></code>");
		return;
	}
	kl_buf_addf(out, "<code class=\"%s\"><b>%4ld %c </b>",
		    sign == '+' ? "add" :
		    sign == '-' ? "del" :
				  "same",
		    number, sign);
	kl_highlight_line(out, state, line->text, line->len);
	kl_buf_adds(out, "</code>");
}

/* Write the removed and the added lines that were collected, side by side. */
static void flush_lines(struct hunk *hunk)
{
	size_t n = hunk->ngone > hunk->nadded ? hunk->ngone : hunk->nadded;

	for (size_t i = 0; i < n; i++) {
		kl_buf_adds(&hunk->rows, "<div>");
		add_cell(&hunk->rows, i < hunk->ngone ? &hunk->gone[i] : NULL, hunk->old_number,
			 '-', &hunk->old_state);
		add_cell(&hunk->rows, i < hunk->nadded ? &hunk->added[i] : NULL, hunk->new_number,
			 '+', &hunk->new_state);
		hunk->old_number += i < hunk->ngone;
		hunk->new_number += i < hunk->nadded;
		kl_buf_adds(&hunk->rows, "</div>\n");
	}
	hunk->ngone = hunk->nadded = 0;
}

static void add_line(struct hunk *hunk, char sign, const struct line *line)
{
	bool comment = true;

	if (sign != '+')
		comment &= kl_highlight_is_comment(&hunk->old_scan, line->text, line->len);
	if (sign != '-')
		comment &= kl_highlight_is_comment(&hunk->new_scan, line->text, line->len);
	if (sign != ' ')
		hunk->comments = hunk->comments && comment;
	if (sign == ' ' || (sign == '-' && hunk->nadded) || hunk->ngone == CHANGED ||
	    hunk->nadded == CHANGED)
		flush_lines(hunk);
	if (sign == '-') {
		hunk->gone[hunk->ngone++] = *line;
	} else if (sign == '+') {
		hunk->added[hunk->nadded++] = *line;
	} else {
		kl_buf_adds(&hunk->rows, "<div>");
		add_cell(&hunk->rows, line, hunk->old_number++, ' ', &hunk->old_state);
		add_cell(&hunk->rows, line, hunk->new_number++, ' ', &hunk->new_state);
		kl_buf_adds(&hunk->rows, "</div>\n");
	}
}

static void close_hunk(struct kl_buf *out, struct hunk *hunk)
{
	if (!hunk->open)
		return;
	flush_lines(hunk);
	kl_buf_adds(out,
		    hunk->comments ? "<details><summary>only comments: " : "<p class=\"soft\">");
	kl_html_add(out, hunk->heading);
	kl_buf_adds(out, hunk->comments ? "</summary>\n" : "</p>\n");
	kl_buf_adds(out, "<div class=\"side\">\n");
	kl_buf_add(out, hunk->rows.ptr, hunk->rows.len);
	kl_buf_adds(out, hunk->comments ? "</div></details>\n" : "</div>\n");
	kl_buf_release(&hunk->rows);
	free(hunk->heading);
	hunk->heading = NULL;
	hunk->open = false;
}

/* Begin a hunk: "@@ -12,7 +12,9 @@ function". */
static void open_hunk(struct hunk *hunk, const struct line *line)
{
	KL_AUTO(kl_freep) char *text = kl_strndup(line->text, line->len);
	const char *plus = strstr(text, " +"), *name = strstr(text + (line->len > 2 ? 2 : 0), "@@");

	hunk->rows = (struct kl_buf)KL_BUF_INIT;
	hunk->open = hunk->comments = true;
	hunk->old_state = hunk->new_state = hunk->old_scan = hunk->new_scan = (struct kl_highlight){
		false
	};
	hunk->old_number = line->len > 4 ? strtol(text + 4, NULL, 10) : 0;
	hunk->new_number = plus ? strtol(plus + 2, NULL, 10) : 0;
	hunk->heading = kl_asprintf("line %ld%s%s", hunk->new_number, name && name[2] ? "," : "",
				    name ? name + 2 : "");
}

void kl_side_by_side(struct kl_buf *out, const char *diff, size_t len)
{
	struct hunk *hunk = kl_calloc(1, sizeof(*hunk));
	size_t n;

	for (const char *at = diff, *end = diff + len; at < end; at += n + 1) {
		const char *nl = memchr(at, '\n', (size_t)(end - at));
		struct line line;

		n = nl ? (size_t)(nl - at) : (size_t)(end - at);
		line = (struct line){ at + 1, n ? n - 1 : 0 };
		if (n >= 3 && !memcmp(at, "@@ ", 3)) {
			close_hunk(out, hunk);
			open_hunk(hunk, &(struct line){ at, n });
		} else if (hunk->open && n && strchr("+- ", *at)) {
			add_line(hunk, *at, &line);
		} else if (n >= 6 && !memcmp(at, "+++ b/", 6)) {
			kl_buf_adds(out, "<p><strong>");
			kl_html_addn(out, at + 6, n - 6);
			kl_buf_adds(out, "</strong></p>\n");
		} else if (n >= 5 && !memcmp(at, "diff ", 5)) {
			close_hunk(out, hunk);
		} else if (n >= 6 && (!memcmp(at, "Binary", 6) || !memcmp(at, "delete", 6))) {
			kl_buf_adds(out, "<p class=\"soft\">");
			kl_html_addn(out, at, n);
			kl_buf_adds(out, "</p>\n");
		}
	}
	close_hunk(out, hunk);
	free(hunk);
}
