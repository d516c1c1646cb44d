/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/when_svg.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "event/speed.h"
#include "text/html.h"

#define LEFT 96
#define TOP 58
#define CELL_WIDTH 76
#define CELL_HEIGHT 36
#define LEAST_WIDTH 620

/* Marks by enum kl_when_mark. Texts on their fills have a contrast of at least 4.5. */
static const struct {
	const char *sign, *text, *class_;
} marks[] = {
	[KL_WHEN_MARK_LEFT] = { ".", "not judged yet", "left" },
	[KL_WHEN_MARK_UNTESTED] = { "?", "cannot be judged", "left" },
	[KL_WHEN_MARK_FASTER] = { "+", "faster", "faster" },
	[KL_WHEN_MARK_SLOWER] = { "-", "slower", "slower" },
	[KL_WHEN_MARK_SAME] = { "=", "equally fast", "same" },
	[KL_WHEN_MARK_UNCLEAR] = { "~", "the interval decides nothing", "same" },
	[KL_WHEN_MARK_FAILS] = { "X", "fails, while the other kernel is correct", "fails" },
	[KL_WHEN_MARK_FAILS_A] = { "o", "correct, while the other kernel fails", "other" },
	[KL_WHEN_MARK_BOTH_FAIL] = { "XX", "both fail", "fails" },
};

/* All selectors begin with .when, because a style inside a page holds for the whole page. */
static const char style[] =
	"<style>.when text{font:12px system-ui,sans-serif;fill:currentColor}"
	".when .head{font-weight:bold}.when rect{stroke:#555;stroke-width:1}"
	".when .cell text{font-size:11px;text-anchor:middle}.when .cell .span{font-size:9px}"
	".when .faster rect{fill:#0b4f6c}.when .faster text{fill:#fff}"
	".when .slower rect{fill:#c8c8c8}.when .slower text{fill:#000}"
	".when .same rect{fill:#fff}.when .same text{fill:#000}"
	".when .other rect{fill:#e4e4e4;stroke-width:2}.when .other text{fill:#000}"
	".when .fails rect{fill:#fff;stroke-width:3}"
	".when .fails text{fill:#000;font-weight:bold}"
	".when .left rect{fill:none;stroke-dasharray:2 3}</style>";

enum kl_when_mark kl_when_mark(const struct kl_when_point *point)
{
	if (point->a.end == KL_WHEN_OPEN)
		return KL_WHEN_MARK_LEFT;
	if (point->a.end == KL_WHEN_UNTESTED || point->b.end == KL_WHEN_UNTESTED)
		return KL_WHEN_MARK_UNTESTED;
	if (point->a.end == KL_WHEN_FAIL)
		return point->b.end == KL_WHEN_FAIL ? KL_WHEN_MARK_BOTH_FAIL : KL_WHEN_MARK_FAILS_A;
	if (point->b.end != KL_WHEN_PASS)
		return KL_WHEN_MARK_FAILS;
	if (point->ratio.ppm <= 0 || kl_when_is_unclear(point))
		return KL_WHEN_MARK_UNCLEAR;
	return point->speed == KL_SPEED_FAST ? KL_WHEN_MARK_FASTER :
	       point->speed == KL_SPEED_SLOW ? KL_WHEN_MARK_SLOWER :
					       KL_WHEN_MARK_SAME;
}

const char *kl_when_mark_sign(enum kl_when_mark mark)
{
	return marks[mark].sign;
}

const char *kl_when_mark_text(enum kl_when_mark mark)
{
	return marks[mark].text;
}

/* --- panels ----------------------------------------------------------------------------------- */

/* Points of a map that differ only in one or two dims. */
struct panel {
	const struct kl_when *when;
	size_t x, y;           /* y == x: only one dim */
	int64_t *column, *row; /* sizes, ascending */
	size_t ncolumn, nrow;
};

static bool is_in(const struct panel *panel, const struct kl_when_point *point)
{
	for (size_t i = 0; i < point->dims.n; i++)
		if (i != panel->x && i != panel->y &&
		    point->dims.v[i] != panel->when->contract->dims.v[i])
			return false;
	return true;
}

static size_t add_size(int64_t *size, size_t n, int64_t value)
{
	size_t at = n;

	for (size_t i = 0; i < n; i++)
		if (size[i] == value)
			return n;
	for (; at && size[at - 1] > value; at--)
		size[at] = size[at - 1];
	size[at] = value;
	return n + 1;
}

/* Collect the sizes at which points were judged. Return false if there are fewer than two. */
static bool open_panel(struct panel *panel)
{
	const struct kl_when *when = panel->when;

	panel->column = kl_calloc(when->n + 1, sizeof(*panel->column));
	panel->row = kl_calloc(when->n + 1, sizeof(*panel->row));
	for (size_t i = 0; i < when->n; i++) {
		const struct kl_when_point *point = &when->point[i];

		if (!is_in(panel, point) || point->a.end == KL_WHEN_OPEN)
			continue;
		panel->ncolumn = add_size(panel->column, panel->ncolumn, point->dims.v[panel->x]);
		panel->nrow = add_size(panel->row, panel->nrow, point->dims.v[panel->y]);
	}
	if (panel->x == panel->y)
		panel->nrow = panel->ncolumn ? 1 : 0;
	return panel->ncolumn * panel->nrow > 1;
}

static void panel_release(struct panel *panel)
{
	free(panel->column);
	free(panel->row);
}

static size_t find_size(const int64_t *size, size_t n, int64_t value)
{
	size_t i = 0;

	while (i < n && size[i] != value)
		i++;
	return i;
}

/* --- drawing ---------------------------------------------------------------------------------- */

static void draw_text(struct kl_buf *out, int x, int y, const char *attributes, const char *text)
{
	kl_buf_addf(out, "<text x=\"%d\" y=\"%d\"%s%s>", x, y, *attributes ? " " : "", attributes);
	kl_html_add(out, text);
	kl_buf_adds(out, "</text>");
}

/* Describe a cell in full, for a reader that points at it or has it read aloud. */
static void add_title(struct kl_buf *out, const struct kl_when *when,
		      const struct kl_when_point *point)
{
	enum kl_when_mark mark = kl_when_mark(point);

	kl_buf_adds(out, "<title>");
	for (size_t i = 0; i < point->dims.n; i++)
		kl_html_addf(out, "%s%s = %lld", i ? ", " : "", when->contract->dim_name[i],
			     (long long)point->dims.v[i]);
	kl_html_addf(out, ": %s %s", when->name_b, marks[mark].text);
	if (point->ratio.ppm > 0)
		kl_buf_addf(out, ", %.3fx [%.3f, %.3f]", (double)point->ratio.ppm / 1e6,
			    (double)point->ratio.lo / 1e6, (double)point->ratio.hi / 1e6);
	if (*point->b.class_)
		kl_html_addf(out, " (%s)", point->b.class_);
	if (point->why)
		kl_html_addf(out, ": %s", point->why);
	kl_buf_adds(out, "</title>");
}

static void draw_cell(struct kl_buf *out, const struct kl_when *when,
		      const struct kl_when_point *point, int x, int y)
{
	enum kl_when_mark mark = kl_when_mark(point);
	int middle = x + CELL_WIDTH / 2;
	char line[48], span[64] = "";

	kl_buf_addf(out, "<g class=\"cell %s\">", marks[mark].class_);
	add_title(out, when, point);
	kl_buf_addf(out, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"/>", x + 2, y + 2,
		    CELL_WIDTH - 4, CELL_HEIGHT - 4);
	snprintf(line, sizeof(line), "%s", marks[mark].sign);
	if (point->ratio.ppm > 0) {
		snprintf(line, sizeof(line), "%s %.*fx", marks[mark].sign,
			 point->ratio.ppm >= 10000000 ? 1 : 2, (double)point->ratio.ppm / 1e6);
		snprintf(span, sizeof(span), "[%.2f, %.2f]", (double)point->ratio.lo / 1e6,
			 (double)point->ratio.hi / 1e6);
	} else if (point->b.end == KL_WHEN_FAIL) {
		snprintf(span, sizeof(span), "%s", point->b.class_);
	}
	draw_text(out, middle, y + (*span ? 17 : 22), "", line);
	if (*span)
		draw_text(out, middle, y + 28, "class=\"span\"", span);
	kl_buf_adds(out, "</g>\n");
}

static void draw_sizes(struct kl_buf *out, const struct panel *panel, int top)
{
	const struct kl_contract *contract = panel->when->contract;
	int bottom = top + (int)panel->nrow * CELL_HEIGHT;
	char words[32];
	KL_AUTO(kl_freep) char *across = kl_asprintf("%s (across)", contract->dim_name[panel->x]);
	KL_AUTO(kl_freep) char *upward = kl_asprintf("%.10s (up)", contract->dim_name[panel->y]);

	for (size_t i = 0; i < panel->ncolumn; i++) {
		snprintf(words, sizeof(words), "%lld", (long long)panel->column[i]);
		draw_text(out, LEFT + (int)i * CELL_WIDTH + CELL_WIDTH / 2, bottom + 16,
			  "text-anchor=\"middle\"", words);
	}
	for (size_t i = 0; i < panel->nrow && panel->x != panel->y; i++) {
		snprintf(words, sizeof(words), "%lld", (long long)panel->row[i]);
		draw_text(out, LEFT - 8, bottom - (int)i * CELL_HEIGHT - CELL_HEIGHT / 2 + 4,
			  "text-anchor=\"end\"", words);
	}
	draw_text(out, LEFT, bottom + 34, "", across);
	if (panel->x != panel->y)
		draw_text(out, 8, top - 6, "", upward);
	kl_buf_addch(out, '\n');
}

/* Draw a panel; returns the position below it. */
static int draw_panel(struct kl_buf *out, const struct panel *panel, int top)
{
	const struct kl_when *when = panel->when;
	int bottom = top + (int)panel->nrow * CELL_HEIGHT;

	for (size_t i = 0; i < when->n; i++) {
		const struct kl_when_point *point = &when->point[i];
		size_t column = find_size(panel->column, panel->ncolumn, point->dims.v[panel->x]);
		size_t row = panel->x == panel->y ?
				     0 :
				     find_size(panel->row, panel->nrow, point->dims.v[panel->y]);

		if (is_in(panel, point) && column < panel->ncolumn && row < panel->nrow)
			draw_cell(out, when, point, LEFT + (int)column * CELL_WIDTH,
				  bottom - (int)(row + 1) * CELL_HEIGHT);
	}
	draw_sizes(out, panel, top);
	return bottom + 62;
}

static int draw_legend(struct kl_buf *out, const struct kl_when *when, int top)
{
	bool seen[sizeof(marks) / sizeof(marks[0])] = { false };
	KL_AUTO(kl_freep) char *factor = NULL;

	for (size_t i = 0; i < when->n; i++)
		seen[kl_when_mark(&when->point[i])] = true;
	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
		KL_AUTO(kl_freep) char *text = NULL;

		if (!seen[i])
			continue;
		text = kl_asprintf("%s   %s: %s", marks[i].sign, when->name_b, marks[i].text);
		draw_text(out, 12, top, "", text);
		kl_buf_addch(out, '\n');
		top += 17;
	}
	factor = kl_asprintf("A factor is the time of %s divided by that of %s, with its interval.",
			     when->name_a, when->name_b);
	draw_text(out, 12, top, "", factor);
	return top + 14;
}

/* Draw the body and set the size that it needs. */
static void draw_body(struct kl_buf *out, int *width, int *height, const struct kl_when *when)
{
	int top = TOP;

	*width = LEAST_WIDTH;
	for (size_t i = 0; i <= when->contract->dims.n; i++) {
		/* first the axes, then every other dim alone */
		size_t dim = i ? i - 1 : when->x;
		KL_AUTO(panel_release) struct panel panel = { .when = when,
							      .x = dim,
							      .y = i ? dim : when->y };
		int right;

		if ((i && (dim == when->x || dim == when->y)) || !open_panel(&panel))
			continue;
		right = LEFT + (int)panel.ncolumn * CELL_WIDTH + 20;
		*width = right > *width ? right : *width;
		top = draw_panel(out, &panel, top);
	}
	*height = draw_legend(out, when, top);
}

void kl_when_svg(struct kl_buf *out, const struct kl_when *when)
{
	KL_AUTO(kl_buf_release) struct kl_buf body = KL_BUF_INIT, words = KL_BUF_INIT;
	KL_AUTO(kl_freep) char *title = kl_asprintf("%s: %s against %s", when->contract->workload,
						    when->name_b, when->name_a);
	int width, height;

	draw_body(&body, &width, &height, when);
	kl_when_words(&words, when);
	kl_buf_addf(
		out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"when\" viewBox=\"0 0 %d %d\" width=\"%d\" "
		"height=\"%d\" role=\"img\"><title>",
		width, height, width, height);
	kl_html_add(out, title);
	kl_buf_adds(out, "</title><desc>");
	kl_html_add(out, words.ptr);
	kl_buf_addf(out, "</desc>%s\n", style);
	draw_text(out, 8, 20, "class=\"head\"", title);
	kl_buf_addch(out, '\n');
	kl_buf_add(out, body.ptr, body.len);
	kl_buf_adds(out, "</svg>\n");
}
