/* SPDX-License-Identifier: Apache-2.0 */
#include "lineage/figure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "text/html.h"

#define WIDTH 860
#define MAX_POINTS 400 /* more states are thinned out of a figure, not of the table */

/* --- ground ----------------------------------------------------------------- */

static const char style[] =
	"<style>text{font:12px system-ui,sans-serif;fill:currentColor}"
	".axis{stroke:currentColor;stroke-width:1}.grid{stroke:currentColor;stroke-opacity:.15}"
	".line{fill:none;stroke:#0b7285;stroke-width:2}.dot{fill:#0b7285}"
	".span{stroke:#0b7285;stroke-width:1.5}.base{stroke:#c92a2a;stroke-dasharray:5 4}"
	".up{fill:#2b8a3e}.down{fill:#c92a2a}.whisker{stroke:currentColor;stroke-width:1}</style>";

static void begin_figure(struct kl_buf *b, int height, const char *title)
{
	kl_buf_addf(b,
		    "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" "
		    "width=\"%d\" height=\"%d\" role=\"img\"><title>",
		    WIDTH, height, WIDTH, height);
	kl_html_add(b, title);
	kl_buf_addf(b, "</title>%s\n", style);
}

static void end_figure(struct kl_buf *b)
{
	kl_buf_adds(b, "</svg>\n");
}

static void draw_line(struct kl_buf *b, const char *class_, double x1, double y1, double x2,
		      double y2)
{
	kl_buf_addf(b, "<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n",
		    class_, x1, y1, x2, y2);
}

/* `anchor`: start, middle, end; `turn` in degrees */
static void draw_text(struct kl_buf *b, double x, double y, const char *anchor, int turn,
		      const char *words)
{
	kl_buf_addf(b, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\"", x, y, anchor);
	if (turn)
		kl_buf_addf(b, " transform=\"rotate(%d %.1f %.1f)\"", turn, x, y);
	kl_buf_addch(b, '>');
	kl_html_add(b, words);
	kl_buf_adds(b, "</text>\n");
}

static void format_number(char out[32], double x)
{
	char factor[24];

	kl_view_factor(factor, x);
	snprintf(out, 32, "%s×", factor);
}

/* A logarithmic axis from `lo` to `hi` (factors) over pixels `from` to `to`. */
struct axis {
	double lo, hi, from, to;
};

static double axis_position(const struct axis *a, double x)
{
	x = fmin(fmax(x, a->lo), a->hi);
	return a->from + (log(x) - log(a->lo)) / (log(a->hi) - log(a->lo)) * (a->to - a->from);
}

/* Room around what is shown, and never nothing. */
static void widen_axis(struct axis *a)
{
	a->lo /= 1.06;
	a->hi *= 1.06;
	if (a->hi / a->lo < 1.3) {
		a->lo /= 1.15;
		a->hi *= 1.15;
	}
}

/* Round factors: 1, 2, 5 of each power of ten, fewer where they would crowd. */
static size_t axis_ticks(double out[64], const struct axis *a)
{
	static const double steps[] = { 1, 2, 5 };
	double decades = log10(a->hi / a->lo);
	size_t n = 0;

	for (int e = (int)floor(log10(a->lo)); e <= (int)ceil(log10(a->hi)) && n < 60; e++)
		for (size_t i = 0; i < (decades > 4 ? 1u : decades > 2 ? 2u : 3u); i++) {
			double x = steps[decades > 2 && i == 1 ? 2 : i] * pow(10, e);

			if (x >= a->lo && x <= a->hi)
				out[n++] = x;
		}
	if (n >= 2)
		return n;
	/* less than an octave: in per cent */
	n = 0;
	for (double x = ceil(a->lo * 20) / 20; x <= a->hi && n < 60; x += 0.05)
		out[n++] = x;
	return n;
}

static const char *name_of(const struct kl_view_step *s, size_t i)
{
	if (!i)
		return "(simplest)";
	return s->step.mechanism ? s->step.mechanism : s->step.action ? s->step.action : "?";
}

/* --- the trace ------------------------------------------------------------------ */

static double step_speed(const struct kl_view_step *s, size_t i)
{
	return i ? (double)s->root.ppm / 1e6 : 1;
}

static bool is_known(const struct kl_view_step *s, size_t i)
{
	return !i || s->root.ppm > 0;
}

/* The vendor's kernel against K_0, by the last state that was compared with it; 0: none was. */
static double expert_baseline(const struct kl_view *v, const char **name)
{
	for (size_t i = v->n; i-- > 0;) {
		if (v->step[i].baseline_ppm <= 0 || !is_known(&v->step[i], i))
			continue;
		*name = v->step[i].baseline;
		return step_speed(&v->step[i], i) * 1e6 / (double)v->step[i].baseline_ppm;
	}
	return 0;
}

static void vertical_axis(struct kl_buf *b, const struct axis *y, double left, double right)
{
	double tick[64];
	size_t n = axis_ticks(tick, y);
	char words[24];

	for (size_t i = 0; i < n; i++) {
		draw_line(b, "grid", left, axis_position(y, tick[i]), right,
			  axis_position(y, tick[i]));
		snprintf(words, sizeof(words), "%g×", tick[i]);
		draw_text(b, left - 6, axis_position(y, tick[i]) + 4, "end", 0, words);
	}
	draw_line(b, "axis", left, y->from, left, y->to);
}

static void trace_range(struct axis *y, const struct kl_view *v, double base)
{
	y->lo = y->hi = 1;
	for (size_t i = 1; i < v->n; i++) {
		const struct kl_ratio *r = &v->step[i].root;

		if (r->ppm <= 0)
			continue;
		y->lo = fmin(y->lo, (double)(r->lo > 0 ? r->lo : r->ppm) / 1e6);
		y->hi = fmax(y->hi, (double)(r->hi > 0 ? r->hi : r->ppm) / 1e6);
	}
	if (base > 0) {
		y->lo = fmin(y->lo, base);
		y->hi = fmax(y->hi, base);
	}
	widen_axis(y);
}

static void trace_point(struct kl_buf *b, const struct kl_view_step *s, size_t i, double x,
			const struct axis *y)
{
	char words[32];

	if (i && s->root.lo > 0)
		draw_line(b, "span", x, axis_position(y, (double)s->root.lo / 1e6), x,
			  axis_position(y, (double)s->root.hi / 1e6));
	format_number(words, step_speed(s, i));
	kl_buf_addf(b, "<circle class=\"dot\" cx=\"%.1f\" cy=\"%.1f\" r=\"4\"><title>", x,
		    axis_position(y, step_speed(s, i)));
	kl_html_addf(b, "K_%zu %s: %s", i, name_of(s, i), words);
	kl_buf_adds(b, "</title></circle>\n");
}

void kl_figure_trace(struct kl_buf *svg, const struct kl_view *v)
{
	const double left = 70, right = WIDTH - 30, top = 20, bottom = 300;
	size_t stride = v->n / MAX_POINTS + 1, label = v->n / 30 + 1, drawn = 0;
	double gap = v->n > 1 ? (right - left - 40) / (double)(v->n - 1) : 0, base;
	struct axis y = { .from = bottom, .to = top };
	const char *what = "";

	base = expert_baseline(v, &what);
	trace_range(&y, v, base);
	begin_figure(svg, 430, "speed against K_0");
	vertical_axis(svg, &y, left, right);
	draw_line(svg, "axis", left, bottom, right, bottom);
	if (base > 0) {
		draw_line(svg, "base", left, axis_position(&y, base), right,
			  axis_position(&y, base));
		draw_text(svg, right, axis_position(&y, base) - 5, "end", 0, what);
	}
	kl_buf_adds(svg, "<polyline class=\"line\" points=\"");
	for (size_t i = 0; i < v->n; i += stride)
		if (is_known(&v->step[i], i))
			kl_buf_addf(svg, "%s%.1f,%.1f", drawn++ ? " " : "",
				    left + 20 + gap * (double)i,
				    axis_position(&y, step_speed(&v->step[i], i)));
	kl_buf_adds(svg, "\"/>\n");
	for (size_t i = 0; i < v->n; i += stride)
		if (is_known(&v->step[i], i))
			trace_point(svg, &v->step[i], i, left + 20 + gap * (double)i, &y);
	for (size_t i = 0; i < v->n; i += label) {
		KL_AUTO(kl_freep) char *words = kl_asprintf("K_%zu %.18s", i,
							    name_of(&v->step[i], i));

		draw_text(svg, left + 24 + gap * (double)i, bottom + 16, "end", -45, words);
	}
	end_figure(svg);
}

/* --- the steps -------------------------------------------------------------------- */

void kl_figure_steps(struct kl_buf *svg, const struct kl_view *v)
{
	const double left = 230, right = WIDTH - 90;
	size_t n = v->n > MAX_POINTS ? MAX_POINTS : v->n;
	int height = 60 + 22 * (int)n;
	struct axis x = { .lo = 1, .hi = 1, .from = left, .to = right };
	double tick[64];
	size_t nticks;
	char words[32];

	for (size_t i = 1; i < n; i++) {
		const struct kl_ratio *r = &v->step[i].prev;

		if (r->ppm <= 0)
			continue;
		x.lo = fmin(x.lo, (double)(r->lo > 0 ? r->lo : r->ppm) / 1e6);
		x.hi = fmax(x.hi, (double)(r->hi > 0 ? r->hi : r->ppm) / 1e6);
	}
	widen_axis(&x);
	begin_figure(svg, height, "each step against the one before");
	nticks = axis_ticks(tick, &x);
	for (size_t i = 0; i < nticks; i++) {
		draw_line(svg, "grid", axis_position(&x, tick[i]), 16, axis_position(&x, tick[i]),
			  height - 34);
		snprintf(words, sizeof(words), "%g×", tick[i]);
		draw_text(svg, axis_position(&x, tick[i]), height - 16, "middle", 0, words);
	}
	for (size_t i = 1; i < n; i++) {
		const struct kl_ratio *r = &v->step[i].prev;
		double y = 10 + 22 * (double)i, a = axis_position(&x, 1),
		       b = axis_position(&x, (double)r->ppm / 1e6);
		KL_AUTO(kl_freep) char *label = kl_asprintf("K_%zu %.24s", i,
							    name_of(&v->step[i], i));

		draw_text(svg, left - 8, y + 9, "end", 0, label);
		if (r->ppm <= 0)
			continue;
		kl_buf_addf(
			svg,
			"<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"12\"/>\n",
			b >= a ? "up" : "down", fmin(a, b), y - 2, fmax(fabs(b - a), 1));
		if (r->lo > 0)
			draw_line(svg, "whisker", axis_position(&x, (double)r->lo / 1e6), y + 4,
				  axis_position(&x, (double)r->hi / 1e6), y + 4);
		format_number(words, (double)r->ppm / 1e6);
		draw_text(svg, right + 10, y + 9, "start", 0, words);
	}
	draw_line(svg, "axis", axis_position(&x, 1), 16, axis_position(&x, 1), height - 34);
	end_figure(svg);
}

/* --- cost against best ---------------------------------------------------------------- */

/* "forward-3" is about K_3 */
static size_t state_of(const struct kl_view *v, const char *phase)
{
	char *stop;
	unsigned long n = strncmp(phase, "forward-", 8) ? 0 : strtoul(phase + 8, &stop, 10);

	return n && !*stop && n < v->n ? n : 0;
}

bool kl_figure_cost(struct kl_buf *svg, const struct kl_view *v, const struct kl_ledger *l)
{
	const double left = 70, right = WIDTH - 60, top = 20, bottom = 280;
	struct axis y = { .lo = 1, .hi = 1, .from = bottom, .to = top };
	int64_t total = 0, spent = 0;
	double best = 1;
	char words[40];

	for (size_t i = 0; i < l->n; i++)
		if (l->e[i].settles && l->e[i].name && !strcmp(l->e[i].name, v->name))
			total += l->e[i].nano;
	if (total <= 0)
		return false;
	for (size_t i = 0; i < v->n; i++)
		if (!git_oid_is_zero(&v->step[i].rederived) && is_known(&v->step[i], i))
			y.hi = fmax(y.hi, step_speed(&v->step[i], i));
	widen_axis(&y);
	begin_figure(svg, 330, "best state derived anew, against what was spent");
	vertical_axis(svg, &y, left, right);
	draw_line(svg, "axis", left, bottom, right, bottom);
	for (int i = 0; i <= 4; i++) {
		snprintf(words, sizeof(words), "$%.2f", (double)total / 1e9 * i / 4);
		draw_text(svg, left + (right - left) * i / 4, bottom + 18, "middle", 0, words);
	}
	kl_buf_addf(svg, "<polyline class=\"line\" points=\"%.1f,%.1f", left, axis_position(&y, 1));
	for (size_t i = 0; i < l->n; i++) {
		const struct kl_ledger_entry *e = &l->e[i];
		size_t k = e->phase ? state_of(v, e->phase) : 0;
		double x;

		if (!e->settles || !e->name || strcmp(e->name, v->name))
			continue;
		spent += e->nano;
		x = left + (right - left) * (double)spent / (double)total;
		kl_buf_addf(svg, " %.1f,%.1f", x, axis_position(&y, best));
		if (k && !git_oid_is_zero(&v->step[k].rederived) && is_known(&v->step[k], k))
			best = fmax(best, step_speed(&v->step[k], k));
		kl_buf_addf(svg, " %.1f,%.1f", x, axis_position(&y, best));
	}
	kl_buf_adds(svg, "\"/>\n");
	end_figure(svg);
	return true;
}
