/* SPDX-License-Identifier: Apache-2.0 */
/* drawing_svg - writes the shapes of a figure as SVG */
#include <ctype.h>
#include <string.h>

#include "report/drawing.h"
#include "text/html.h"

/* The class of each pen, for the style of a page, and the look of the figure without a style. */
static const struct {
	const char *class_, *stroke, *fill;
} pens[KL_PENS] = {
	[KL_PEN_AXIS] = { "axis", "currentColor", "currentColor" },
	[KL_PEN_GRID] = { "grid", "currentColor\" stroke-opacity=\".18", "none" },
	[KL_PEN_TRACE] = { "line", "#0b6579\" stroke-width=\"2", "#0b6579" },
	[KL_PEN_OTHER] = { "line2", "#8a3b12\" stroke-width=\"2\" stroke-dasharray=\"7 3",
			   "#8a3b12" },
	[KL_PEN_THIRD] = { "line3", "#5b3a8c\" stroke-width=\"2\" stroke-dasharray=\"2 3",
			   "#5b3a8c" },
	[KL_PEN_SPAN] = { "span", "currentColor", "none" },
	[KL_PEN_REFERENCE] = { "base", "currentColor\" stroke-dasharray=\"6 4", "none" },
	[KL_PEN_ROOF] = { "roof", "currentColor\" stroke-dasharray=\"1 3", "none" },
	[KL_PEN_FASTER] = { "up", "#0b6579", "#0b6579" },
	[KL_PEN_SLOWER] = { "down", "#a61e1e\" stroke-width=\"2", "none" },
	[KL_PEN_REJECTED] = { "reject", "#a61e1e\" stroke-width=\"2", "none" },
};

static const char *const anchors[] = { "start", "middle", "end" };

/* Write the text of a figure, with the number of each "K_3" as an index below the line. */
static void add_indexed(struct kl_buf *out, const char *text)
{
	for (const char *at = text; *at;) {
		const char *next = strstr(at, "K_");
		size_t digits;

		while (next && !isdigit((unsigned char)next[2]))
			next = strstr(next + 1, "K_");
		if (!next) {
			kl_html_add(out, at);
			return;
		}
		for (digits = 0; isdigit((unsigned char)next[2 + digits]);)
			digits++;
		kl_html_addn(out, at, (size_t)(next - at) + 1);
		kl_buf_addf(out, "<tspan dy=\"3\" font-size=\"80%%\">%.*s</tspan>", (int)digits,
			    next + 2);
		at = next + 2 + digits;
		if (*at) {
			size_t n = strcspn(at, "K");

			/* the rest goes back up to the line */
			kl_buf_adds(out, "<tspan dy=\"-3\">");
			kl_html_addn(out, at, n + !n);
			kl_buf_adds(out, "</tspan>");
			at += n + !n;
		}
	}
}

static void add_text(struct kl_buf *out, const struct kl_shape *shape)
{
	kl_buf_addf(out, "<text x=\"%.1f\" y=\"%.1f\" xml:space=\"preserve\" text-anchor=\"%s\"",
		    shape->x, shape->y, anchors[shape->anchor]);
	if (shape->degrees)
		kl_buf_addf(out, " transform=\"rotate(%d %.1f %.1f)\"", shape->degrees, shape->x,
			    shape->y);
	kl_buf_addch(out, '>');
	add_indexed(out, shape->text);
	kl_buf_adds(out, "</text>\n");
}

/* Close the element of a shape. Its description is a tooltip. */
static void close_shape(struct kl_buf *out, const struct kl_shape *shape, const char *element)
{
	if (!shape->text) {
		kl_buf_adds(out, "/>");
		return;
	}
	kl_buf_adds(out, "><title>");
	kl_html_add(out, shape->text);
	kl_buf_addf(out, "</title></%s>", element);
}

static void add_pen(struct kl_buf *out, const struct kl_shape *shape, bool filled)
{
	kl_buf_addf(out, " class=\"%s\" stroke=\"%s\" fill=\"%s\"", pens[shape->pen].class_,
		    pens[shape->pen].stroke, filled ? pens[shape->pen].fill : "none");
}

static void add_mark(struct kl_buf *out, const struct kl_shape *shape)
{
	double x = shape->x, y = shape->y;

	if (shape->link) {
		kl_buf_adds(out, "<a href=\"");
		kl_html_add(out, shape->link);
		kl_buf_adds(out, "\">");
	}
	if (shape->mark == KL_MARK_DOT)
		kl_buf_addf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\"", x, y);
	else if (shape->mark == KL_MARK_SQUARE)
		kl_buf_addf(out, "<path d=\"M%.1f %.1fh8v8h-8z\"", x - 4, y - 4);
	else if (shape->mark == KL_MARK_TRIANGLE)
		kl_buf_addf(out, "<path d=\"M%.1f %.1fl5 9h-10z\"", x, y - 6);
	else
		kl_buf_addf(out, "<path d=\"M%.1f %.1fl8 8m0 -8l-8 8\"", x - 4, y - 4);
	add_pen(out, shape, shape->mark != KL_MARK_CROSS);
	kl_buf_adds(out, " style=\"stroke-dasharray:none\"");
	close_shape(out, shape, shape->mark == KL_MARK_DOT ? "circle" : "path");
	kl_buf_adds(out, shape->link ? "</a>\n" : "\n");
}

static void add_shape(struct kl_buf *out, const struct kl_shape *shape)
{
	switch (shape->kind) {
	case KL_SHAPE_LINE:
		kl_buf_addf(out, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"", shape->x,
			    shape->y, shape->x2, shape->y2);
		add_pen(out, shape, false);
		kl_buf_adds(out, "/>\n");
		break;
	case KL_SHAPE_TEXT:
		add_text(out, shape);
		break;
	case KL_SHAPE_BOX:
		kl_buf_addf(out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"",
			    shape->x, shape->y, shape->x2, shape->y2);
		add_pen(out, shape, true);
		close_shape(out, shape, "rect");
		kl_buf_addch(out, '\n');
		break;
	case KL_SHAPE_MARK:
		add_mark(out, shape);
		break;
	case KL_SHAPE_PATH:
		kl_buf_adds(out, "<polyline points=\"");
		for (size_t i = 0; i + 1 < shape->npoint; i += 2)
			kl_buf_addf(out, "%s%.1f,%.1f", i ? " " : "", shape->point[i],
				    shape->point[i + 1]);
		kl_buf_addch(out, '"');
		add_pen(out, shape, false);
		kl_buf_adds(out, "/>\n");
	}
}

void kl_drawing_svg(struct kl_buf *out, const struct kl_drawing *drawing)
{
	kl_buf_addf(out,
		    "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"fig\" viewBox=\"0 0 %d %d\" "
		    "width=\"%d\" height=\"%d\" role=\"img\" font-family=\"system-ui,sans-serif\" "
		    "font-size=\"13\" fill=\"currentColor\"><title>",
		    drawing->width, drawing->height, drawing->width, drawing->height);
	kl_html_add(out, drawing->title ? drawing->title : "");
	kl_buf_adds(out, "</title>");
	kl_buf_addch(out, '\n');
	for (size_t i = 0; i < drawing->n; i++)
		add_shape(out, &drawing->v[i]);
	kl_buf_adds(out, "</svg>\n");
}
