/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REPORT_DRAWING_H
#define KL_REPORT_DRAWING_H

#include <stdbool.h>

#include "base/buf.h"

/*
 * drawing - holds the shapes of a figure, and writes them as SVG or TikZ. Coordinates are in pixels,
 * from the top left. Shapes that are drawn later cover earlier ones. Text is untrusted: it is escaped
 * for the format that is written.
 *
 *	KL_AUTO(kl_drawing_release) struct kl_drawing drawing = { .width = 860, .height = 300 };
 *
 *	kl_draw_line(&drawing, KL_PEN_AXIS, 10, 10, 10, 290);
 *	kl_drawing_svg(&svg, &drawing);
 *
 * A pen says what a shape means. No meaning is shown by color alone: pens also differ in width, dashes
 * and fill, so that a figure can be read in grey. In SVG, colors are presentation attributes, which the
 * style of a page overrides by the class of the pen; a figure in a file needs no style.
 */
enum kl_pen {
	KL_PEN_AXIS,
	KL_PEN_GRID,
	KL_PEN_TRACE,     /* the line through the states of a lineage, and their marks */
	KL_PEN_OTHER,     /* the line of a second lineage in the same figure */
	KL_PEN_THIRD,     /* ... of a third lineage */
	KL_PEN_SPAN,      /* interval of a measured value */
	KL_PEN_REFERENCE, /* speed of the reference */
	KL_PEN_ROOF,      /* speed that the memory and the arithmetic units permit */
	KL_PEN_FASTER,
	KL_PEN_SLOWER,
	KL_PEN_REJECTED,
	KL_PENS
};

enum kl_mark { KL_MARK_DOT, KL_MARK_SQUARE, KL_MARK_TRIANGLE, KL_MARK_CROSS };
enum kl_anchor { KL_ANCHOR_START, KL_ANCHOR_MIDDLE, KL_ANCHOR_END };

enum kl_shape_kind { KL_SHAPE_LINE, KL_SHAPE_TEXT, KL_SHAPE_BOX, KL_SHAPE_MARK, KL_SHAPE_PATH };

struct kl_shape {
	enum kl_shape_kind kind;
	enum kl_pen pen;
	enum kl_mark mark;
	enum kl_anchor anchor;
	int degrees;         /* rotation of a text */
	double x, y, x2, y2; /* of a box, x2 and y2 are its width and height */
	double *point;       /* of a path: its corners, x and y in turn; owned */
	size_t npoint, alloc;
	char *text; /* of a text: the text; of a mark: its description, or NULL; owned */
	char *link; /* of a mark: where it leads to, such as "#n-K_3", or NULL; owned */
};

struct kl_drawing {
	int width, height;
	char *title; /* owned */
	struct kl_shape *v;
	size_t n, alloc;
};
void kl_drawing_release(struct kl_drawing *drawing);

void kl_draw_line(struct kl_drawing *drawing, enum kl_pen pen, double x, double y, double x2,
		  double y2);
/** Draw a text. "K_3" in it is written with an index below the line. */
void kl_draw_text(struct kl_drawing *drawing, enum kl_anchor anchor, int degrees, double x,
		  double y, const char *text);
void kl_draw_box(struct kl_drawing *drawing, enum kl_pen pen, double x, double y, double width,
		 double height);
void kl_draw_mark(struct kl_drawing *drawing, enum kl_pen pen, enum kl_mark mark, double x,
		  double y, const char *description, const char *link);
/** Begin a path; kl_draw_to() adds corners to the path that was begun last. */
void kl_draw_path(struct kl_drawing *drawing, enum kl_pen pen);
void kl_draw_to(struct kl_drawing *drawing, double x, double y);

void kl_drawing_svg(struct kl_buf *out, const struct kl_drawing *drawing);
/**
 * Write a tikzpicture for LaTeX, which needs the package tikz and no library of it. A pixel is 0.57
 * pt, so that 400 pixels fit into a column of 240 pt, and 860 into a text of 500 pt.
 */
void kl_drawing_tikz(struct kl_buf *out, const struct kl_drawing *drawing);

#endif
