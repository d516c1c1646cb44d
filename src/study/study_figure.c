/* SPDX-License-Identifier: Apache-2.0 */
#include "study/study_figure.h"

#include <string.h>

#include "search/policy/number.h"
#include "text/html.h"

#define WIDTH 860
#define LEFT 60
#define RIGHT 640 /* the legend is to the right of it */
#define TOP 40
#define BOTTOM 340
#define LEGEND_ROW 20
#define MOST_CURVES 64
#define TICKS 4

static const char style[] =
	"<style>text{font:12px system-ui,sans-serif;fill:currentColor}"
	".axis{stroke:currentColor;stroke-width:1}.grid{stroke:currentColor;stroke-opacity:.15}"
	".curve{fill:none;stroke-width:2}.band{fill-opacity:.15;stroke:none}</style>";

static const char *const colors[] = { "#0b7285", "#c2410c", "#6d28d9", "#2b8a3e",
				      "#be185d", "#1d4ed8", "#7c6f00", "#57534e" };
static const char *const dashes[] = { "none", "8 4", "2 3", "10 3 2 3", "1 5", "14 4" };

struct frame {
	const char *over;
	double most_x, most_y; /* ranges: 0 to most_x, and ln of 1 to most_y */
};

static double x_of(const struct frame *frame, double value)
{
	return LEFT + (RIGHT - LEFT) * value / frame->most_x;
}

/* `ppm` is a speed in millionths of the root's, at least 1000000 */
static double y_of(const struct frame *frame, int64_t ppm)
{
	double gain = kl_number_log((double)ppm / 1e6);

	return BOTTOM - (BOTTOM - TOP) * (gain > 0 ? gain : 0) / frame->most_y;
}

/* Find the ranges of all curves. Return false if no curve has a point. */
static bool find_frame(struct frame *frame, const json_t *policies)
{
	int64_t most = 1050000;

	frame->most_x = 0;
	for (size_t i = 0; i < json_array_size(policies); i++) {
		const json_t *curve = json_object_get(json_array_get(policies, i), "curve");

		for (size_t k = 0; k < json_array_size(curve); k++) {
			const json_t *point = json_array_get(curve, k);
			double at = (double)kl_json_int_or(point, frame->over, 0);
			int64_t high = kl_json_int_or(point, "hi_ppm", 0);

			frame->most_x = at > frame->most_x ? at : frame->most_x;
			most = at > 0 && high > most ? high : most;
		}
	}
	frame->most_y = kl_number_log((double)most / 1e6) * 1.03;
	return frame->most_x > 0;
}

/* --- axes ------------------------------------------------------------------------------------ */

static void draw_text(struct kl_buf *svg, double left, double top, const char *anchor,
		      const char *text)
{
	kl_buf_addf(svg, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", left, top, anchor);
	kl_html_add(svg, text);
	kl_buf_adds(svg, "</text>\n");
}

static void draw_line(struct kl_buf *svg, const char *class_, double x1, double y1, double x2,
		      double y2)
{
	kl_buf_addf(svg, "<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n",
		    class_, x1, y1, x2, y2);
}

static void draw_speeds(struct kl_buf *svg, const struct frame *frame)
{
	static const double tick[] = { 1,  1.02, 1.05, 1.1, 1.2, 1.5, 2,   3,   5,   7,
				       10, 15,   20,   30,  50,  70,  100, 200, 500, 1000 };
	double last = BOTTOM + 100;

	for (size_t i = 0; i < KL_ARRAY_SIZE(tick); i++) {
		double top = y_of(frame, (int64_t)(tick[i] * 1e6));
		char label[32];

		/* leave out labels that would touch the one below, or lie above the plot */
		if (top < TOP || last - top < 18)
			continue;
		last = top;
		snprintf(label, sizeof(label), "%g\u00d7", tick[i]);
		draw_line(svg, "grid", LEFT, top, RIGHT, top);
		draw_text(svg, LEFT - 6, top + 4, "end", label);
	}
}

static void draw_axes(struct kl_buf *svg, const struct frame *frame)
{
	bool dollars = !strcmp(frame->over, KL_FIGURE_DOLLARS);
	double step;

	draw_speeds(svg, frame);
	draw_line(svg, "axis", LEFT, BOTTOM, RIGHT, BOTTOM);
	draw_line(svg, "axis", LEFT, TOP, LEFT, BOTTOM);
	/* whole numbers of candidates; quarters of the dollars */
	step = dollars ? frame->most_x / TICKS : (double)((int64_t)(frame->most_x - 1) / TICKS + 1);
	for (double value = 0; value <= frame->most_x; value += step) {
		char label[32];

		snprintf(label, sizeof(label), dollars ? "$%.2f" : "%.0f",
			 dollars ? value / 1e9 : value);
		draw_text(svg, x_of(frame, value), BOTTOM + 18, "middle", label);
	}
	draw_text(svg, (LEFT + RIGHT) / 2.0, BOTTOM + 38, "middle",
		  dollars ? "dollars of a cell" : "candidates of a cell");
}

/* --- curves ---------------------------------------------------------------------------------- */

static void add_points(struct kl_buf *svg, const struct frame *frame, const json_t *curve,
		       const char *key, bool backward)
{
	size_t n = json_array_size(curve);

	for (size_t i = 0; i < n; i++) {
		const json_t *point = json_array_get(curve, backward ? n - 1 - i : i);
		double at = (double)kl_json_int_or(point, frame->over, 0);

		if (at > 0)
			kl_buf_addf(svg, "%.1f,%.1f ", x_of(frame, at),
				    y_of(frame, kl_json_int_or(point, key, 0)));
	}
}

static void draw_curve(struct kl_buf *svg, const struct frame *frame, const json_t *policy,
		       size_t number)
{
	const json_t *curve = json_object_get(policy, "curve");
	const char *color = colors[number % KL_ARRAY_SIZE(colors)];
	const char *dash = dashes[number % KL_ARRAY_SIZE(dashes)];
	double top = TOP + 10 + (double)number * LEGEND_ROW;
	char label[64];

	kl_buf_addf(svg, "<polygon class=\"band\" fill=\"%s\" points=\"", color);
	add_points(svg, frame, curve, "hi_ppm", false);
	add_points(svg, frame, curve, "lo_ppm", true);
	kl_buf_addf(svg,
		    "\"/>\n<polyline class=\"curve\" stroke=\"%s\" stroke-dasharray=\"%s\" "
		    "points=\"",
		    color, dash);
	add_points(svg, frame, curve, "speed_ppm", false);
	kl_buf_addf(svg,
		    "\"/>\n<path class=\"curve\" stroke=\"%s\" stroke-dasharray=\"%s\" "
		    "d=\"M%d %.1fh40\"/>\n",
		    color, dash, RIGHT + 16, top);
	snprintf(label, sizeof(label), "%.32s %.2f\u00d7", kl_json_str_or(policy, "policy", ""),
		 (double)kl_json_int_or(policy, "speed_ppm", 0) / 1e6);
	draw_text(svg, RIGHT + 62, top + 4, "start", label);
}

bool kl_study_figure(struct kl_buf *svg, const json_t *report, const char *over)
{
	const json_t *policies = json_object_get(report, "policies");
	struct frame frame = { .over = over };
	size_t n = json_array_size(policies);
	int height = BOTTOM + 50;
	char title[160];

	n = n < MOST_CURVES ? n : MOST_CURVES;
	if (!kl_json_int_or(report, "seeds", 0) || !find_frame(&frame, policies))
		return false;
	if (TOP + (int)n * LEGEND_ROW + 20 > height)
		height = TOP + (int)n * LEGEND_ROW + 20;
	snprintf(title, sizeof(title), "%.32s: best speed relative to the root (evidence: %.16s)",
		 kl_json_str_or(report, "study", ""), kl_json_str_or(report, "evidence", ""));
	kl_buf_addf(svg,
		    "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" role=\"img\" "
		    "style=\"max-width:%dpx\"><title>",
		    WIDTH, height, WIDTH);
	kl_html_add(svg, title);
	kl_buf_addf(svg, "</title>%s\n", style);
	draw_text(svg, LEFT, 20, "start", title);
	draw_axes(svg, &frame);
	for (size_t i = 0; i < n; i++)
		draw_curve(svg, &frame, json_array_get(policies, i), i);
	kl_buf_adds(svg, "</svg>\n");
	return true;
}
