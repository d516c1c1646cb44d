/* SPDX-License-Identifier: Apache-2.0 */
#include "report/figure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "text/html.h"

#define WIDTH 860
#define MAX_POINTS 400 /* most states that a figure shows; the table on the page shows all states */

/* --- drawing lines, text and axes -------------------------------------------- */

static const char style[] =
	"<style>text{font:12px system-ui,sans-serif;fill:currentColor}"
	".axis{stroke:currentColor;stroke-width:1}.grid{stroke:currentColor;stroke-opacity:.15}"
	".line{fill:none;stroke:#0b7285;stroke-width:2}.dot{fill:#0b7285}"
	".span{stroke:#0b7285;stroke-width:1.5}.base{stroke:#c92a2a;stroke-dasharray:5 4}"
	".up{fill:#2b8a3e}.down{fill:#c92a2a}.whisker{stroke:currentColor;stroke-width:1}</style>";

static void begin_figure(struct kl_buf *buf, int height, const char *title)
{
	kl_buf_addf(buf,
		    "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" "
		    "width=\"%d\" height=\"%d\" role=\"img\"><title>",
		    WIDTH, height, WIDTH, height);
	kl_html_add(buf, title);
	kl_buf_addf(buf, "</title>%s\n", style);
}

static void end_figure(struct kl_buf *buf)
{
	kl_buf_adds(buf, "</svg>\n");
}

static void draw_line(struct kl_buf *buf, const char *class_, double x1, double y1, double x2,
		      double y2)
{
	kl_buf_addf(buf, "<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n",
		    class_, x1, y1, x2, y2);
}

/* Draw a text. `anchor` is start, middle or end; `degrees` is the rotation. */
static void draw_text(struct kl_buf *buf, double x, double y, const char *anchor, int degrees,
		      const char *text)
{
	kl_buf_addf(buf, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\"", x, y, anchor);
	if (degrees)
		kl_buf_addf(buf, " transform=\"rotate(%d %.1f %.1f)\"", degrees, x, y);
	kl_buf_addch(buf, '>');
	kl_html_add(buf, text);
	kl_buf_adds(buf, "</text>\n");
}

static void format_number(char out[32], double value)
{
	char factor[24];

	kl_view_factor(factor, value);
	snprintf(out, 32, "%s×", factor);
}

/* A logarithmic axis for factors from `lo` to `hi`, drawn from pixel `from` to pixel `to`. */
struct axis {
	double lo, hi, from, to;
};

static double axis_position(const struct axis *axis, double value)
{
	value = fmin(fmax(value, axis->lo), axis->hi);
	return axis->from + (log(value) - log(axis->lo)) / (log(axis->hi) - log(axis->lo)) *
				    (axis->to - axis->from);
}

/* Add a margin to the range of an axis, and widen a range that would be too small to draw. */
static void widen_axis(struct axis *axis)
{
	axis->lo /= 1.06;
	axis->hi *= 1.06;
	if (axis->hi / axis->lo < 1.3) {
		axis->lo /= 1.15;
		axis->hi *= 1.15;
	}
}

/*
 * Choose round factors as ticks: 1, 2 and 5 times each power of ten; on an axis of several decades,
 * 1 and 5 times, or only 1 time. Return the number of ticks.
 */
static size_t axis_ticks(double out[64], const struct axis *axis)
{
	static const double steps[] = { 1, 2, 5 };
	double decades = log10(axis->hi / axis->lo);
	size_t n = 0;

	for (int power = (int)floor(log10(axis->lo)); power <= (int)ceil(log10(axis->hi)) && n < 60;
	     power++)
		for (size_t i = 0; i < (decades > 4 ? 1u : decades > 2 ? 2u : 3u); i++) {
			double value = steps[decades > 2 && i == 1 ? 2 : i] * pow(10, power);

			if (value >= axis->lo && value <= axis->hi)
				out[n++] = value;
		}
	if (n >= 2)
		return n;
	/* fewer than two of these ticks are in range: use multiples of 0.05 */
	n = 0;
	for (double value = ceil(axis->lo * 20) / 20; value <= axis->hi && n < 60; value += 0.05)
		out[n++] = value;
	return n;
}

static const char *step_name(const struct kl_view_step *step, size_t i)
{
	if (!i)
		return "(simplest)";
	return step->step.mechanism ? step->step.mechanism :
	       step->step.action    ? step->step.action :
				      "?";
}

/* --- speed against K_0 ----------------------------------------------------------- */

static double step_speed(const struct kl_view_step *step, size_t i)
{
	return i ? (double)step->root.ppm / 1e6 : 1;
}

static bool has_speed(const struct kl_view_step *step, size_t i)
{
	return !i || step->root.ppm > 0;
}

/*
 * Return the speed of the baseline compared with K_0, computed from the last state that was
 * compared with the baseline; 0: there is no such state.
 */
static double expert_baseline(const struct kl_view *view, const char **name)
{
	for (size_t i = view->n; i-- > 0;) {
		if (view->step[i].baseline_ppm <= 0 || !has_speed(&view->step[i], i))
			continue;
		*name = view->step[i].baseline;
		return step_speed(&view->step[i], i) * 1e6 / (double)view->step[i].baseline_ppm;
	}
	return 0;
}

static void vertical_axis(struct kl_buf *buf, const struct axis *axis, double left, double right)
{
	double tick[64];
	size_t n = axis_ticks(tick, axis);
	char words[24];

	for (size_t i = 0; i < n; i++) {
		draw_line(buf, "grid", left, axis_position(axis, tick[i]), right,
			  axis_position(axis, tick[i]));
		snprintf(words, sizeof(words), "%g×", tick[i]);
		draw_text(buf, left - 6, axis_position(axis, tick[i]) + 4, "end", 0, words);
	}
	draw_line(buf, "axis", left, axis->from, left, axis->to);
}

static void trace_range(struct axis *axis, const struct kl_view *view, double base)
{
	axis->lo = axis->hi = 1;
	for (size_t i = 1; i < view->n; i++) {
		const struct kl_ratio *ratio = &view->step[i].root;

		if (ratio->ppm <= 0)
			continue;
		axis->lo = fmin(axis->lo, (double)(ratio->lo > 0 ? ratio->lo : ratio->ppm) / 1e6);
		axis->hi = fmax(axis->hi, (double)(ratio->hi > 0 ? ratio->hi : ratio->ppm) / 1e6);
	}
	if (base > 0) {
		axis->lo = fmin(axis->lo, base);
		axis->hi = fmax(axis->hi, base);
	}
	widen_axis(axis);
}

static void trace_point(struct kl_buf *buf, const struct kl_view_step *step, size_t i, double x,
			const struct axis *axis)
{
	char words[32];

	if (i && step->root.lo > 0)
		draw_line(buf, "span", x, axis_position(axis, (double)step->root.lo / 1e6), x,
			  axis_position(axis, (double)step->root.hi / 1e6));
	format_number(words, step_speed(step, i));
	kl_buf_addf(buf, "<circle class=\"dot\" cx=\"%.1f\" cy=\"%.1f\" r=\"4\"><title>", x,
		    axis_position(axis, step_speed(step, i)));
	kl_html_addf(buf, "K_%zu %s: %s", i, step_name(step, i), words);
	kl_buf_adds(buf, "</title></circle>\n");
}

void kl_figure_trace(struct kl_buf *svg, const struct kl_view *view)
{
	const double left = 70, right = WIDTH - 30, top = 20, bottom = 300;
	size_t stride = view->n / MAX_POINTS + 1, label = view->n / 30 + 1, drawn = 0;
	double gap = view->n > 1 ? (right - left - 40) / (double)(view->n - 1) : 0, base;
	struct axis axis = { .from = bottom, .to = top };
	const char *baseline = "";

	base = expert_baseline(view, &baseline);
	trace_range(&axis, view, base);
	begin_figure(svg, 430, "speed against K_0");
	vertical_axis(svg, &axis, left, right);
	draw_line(svg, "axis", left, bottom, right, bottom);
	if (base > 0) {
		draw_line(svg, "base", left, axis_position(&axis, base), right,
			  axis_position(&axis, base));
		draw_text(svg, right, axis_position(&axis, base) - 5, "end", 0, baseline);
	}
	kl_buf_adds(svg, "<polyline class=\"line\" points=\"");
	for (size_t i = 0; i < view->n; i += stride)
		if (has_speed(&view->step[i], i))
			kl_buf_addf(svg, "%s%.1f,%.1f", drawn++ ? " " : "",
				    left + 20 + gap * (double)i,
				    axis_position(&axis, step_speed(&view->step[i], i)));
	kl_buf_adds(svg, "\"/>\n");
	for (size_t i = 0; i < view->n; i += stride)
		if (has_speed(&view->step[i], i))
			trace_point(svg, &view->step[i], i, left + 20 + gap * (double)i, &axis);
	for (size_t i = 0; i < view->n; i += label) {
		KL_AUTO(kl_freep) char *words = kl_asprintf("K_%zu %.18s", i,
							    step_name(&view->step[i], i));

		draw_text(svg, left + 24 + gap * (double)i, bottom + 16, "end", -45, words);
	}
	end_figure(svg);
}

/* --- speed against the previous state --------------------------------------------- */

void kl_figure_steps(struct kl_buf *svg, const struct kl_view *view)
{
	const double left = 230, right = WIDTH - 90;
	size_t n = view->n > MAX_POINTS ? MAX_POINTS : view->n;
	int height = 60 + 22 * (int)n;
	struct axis axis = { .lo = 1, .hi = 1, .from = left, .to = right };
	double tick[64];
	size_t nticks;
	char words[32];

	for (size_t i = 1; i < n; i++) {
		const struct kl_ratio *ratio = &view->step[i].prev;

		if (ratio->ppm <= 0)
			continue;
		axis.lo = fmin(axis.lo, (double)(ratio->lo > 0 ? ratio->lo : ratio->ppm) / 1e6);
		axis.hi = fmax(axis.hi, (double)(ratio->hi > 0 ? ratio->hi : ratio->ppm) / 1e6);
	}
	widen_axis(&axis);
	begin_figure(svg, height, "speed of each state against the previous one");
	nticks = axis_ticks(tick, &axis);
	for (size_t i = 0; i < nticks; i++) {
		draw_line(svg, "grid", axis_position(&axis, tick[i]), 16,
			  axis_position(&axis, tick[i]), height - 34);
		snprintf(words, sizeof(words), "%g×", tick[i]);
		draw_text(svg, axis_position(&axis, tick[i]), height - 16, "middle", 0, words);
	}
	for (size_t i = 1; i < n; i++) {
		const struct kl_ratio *ratio = &view->step[i].prev;
		double y = 10 + 22 * (double)i, from = axis_position(&axis, 1),
		       to = axis_position(&axis, (double)ratio->ppm / 1e6);
		KL_AUTO(kl_freep) char *label = kl_asprintf("K_%zu %.24s", i,
							    step_name(&view->step[i], i));

		draw_text(svg, left - 8, y + 9, "end", 0, label);
		if (ratio->ppm <= 0)
			continue;
		kl_buf_addf(
			svg,
			"<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"12\"/>\n",
			to >= from ? "up" : "down", fmin(from, to), y - 2,
			fmax(fabs(to - from), 1));
		if (ratio->lo > 0)
			draw_line(svg, "whisker", axis_position(&axis, (double)ratio->lo / 1e6),
				  y + 4, axis_position(&axis, (double)ratio->hi / 1e6), y + 4);
		format_number(words, (double)ratio->ppm / 1e6);
		draw_text(svg, right + 10, y + 9, "start", 0, words);
	}
	draw_line(svg, "axis", axis_position(&axis, 1), 16, axis_position(&axis, 1), height - 34);
	end_figure(svg);
}

/* --- speed against money spent -------------------------------------------------------- */

/*
 * Return the number of the state that a phase of the ledger is about, such as 3 for "forward-3"; 0:
 * the phase is not about a state.
 */
static size_t phase_step(const struct kl_view *view, const char *phase)
{
	char *stop;
	unsigned long n = strncmp(phase, "forward-", 8) ? 0 : strtoul(phase + 8, &stop, 10);

	return n && !*stop && n < view->n ? n : 0;
}

bool kl_figure_cost(struct kl_buf *svg, const struct kl_view *view, const struct kl_ledger *ledger)
{
	const double left = 70, right = WIDTH - 60, top = 20, bottom = 280;
	struct axis axis = { .lo = 1, .hi = 1, .from = bottom, .to = top };
	int64_t total = 0, spent = 0;
	double best = 1;
	char words[40];

	for (size_t i = 0; i < ledger->n; i++)
		if (ledger->e[i].name && !strcmp(ledger->e[i].name, view->name))
			total += kl_ledger_settled_by(&ledger->e[i]);
	if (total <= 0)
		return false;
	for (size_t i = 0; i < view->n; i++)
		if (!git_oid_is_zero(&view->step[i].rederived) && has_speed(&view->step[i], i))
			axis.hi = fmax(axis.hi, step_speed(&view->step[i], i));
	widen_axis(&axis);
	begin_figure(svg, 330, "best re-derived state against money spent");
	vertical_axis(svg, &axis, left, right);
	draw_line(svg, "axis", left, bottom, right, bottom);
	for (int i = 0; i <= 4; i++) {
		snprintf(words, sizeof(words), "$%.2f", (double)total / 1e9 * i / 4);
		draw_text(svg, left + (right - left) * i / 4, bottom + 18, "middle", 0, words);
	}
	kl_buf_addf(svg, "<polyline class=\"line\" points=\"%.1f,%.1f", left,
		    axis_position(&axis, 1));
	for (size_t i = 0; i < ledger->n; i++) {
		const struct kl_ledger_entry *entry = &ledger->e[i];
		size_t k = entry->phase ? phase_step(view, entry->phase) : 0;
		double x;

		if (entry->kind == KL_LEDGER_RESERVE || !entry->name ||
		    strcmp(entry->name, view->name))
			continue;
		spent += kl_ledger_settled_by(entry);
		x = left + (right - left) * (double)spent / (double)total;
		kl_buf_addf(svg, " %.1f,%.1f", x, axis_position(&axis, best));
		if (k && !git_oid_is_zero(&view->step[k].rederived) && has_speed(&view->step[k], k))
			best = fmax(best, step_speed(&view->step[k], k));
		kl_buf_addf(svg, " %.1f,%.1f", x, axis_position(&axis, best));
	}
	kl_buf_adds(svg, "\"/>\n");
	end_figure(svg);
	return true;
}
