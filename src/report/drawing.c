/* SPDX-License-Identifier: Apache-2.0 */
#include "report/drawing.h"

#include <stdlib.h>

#include "base/mem.h"

void kl_drawing_release(struct kl_drawing *drawing)
{
	for (size_t i = 0; i < drawing->n; i++) {
		free(drawing->v[i].point);
		free(drawing->v[i].text);
		free(drawing->v[i].link);
	}
	free(drawing->v);
	free(drawing->title);
	*drawing = (struct kl_drawing){ 0 };
}

static struct kl_shape *add_shape(struct kl_drawing *drawing, enum kl_shape_kind kind,
				  enum kl_pen pen)
{
	KL_GROW(drawing->v, drawing->n + 1, drawing->alloc);
	drawing->v[drawing->n] = (struct kl_shape){ .kind = kind, .pen = pen };
	return &drawing->v[drawing->n++];
}

void kl_draw_line(struct kl_drawing *drawing, enum kl_pen pen, double x, double y, double x2,
		  double y2)
{
	struct kl_shape *shape = add_shape(drawing, KL_SHAPE_LINE, pen);

	shape->x = x;
	shape->y = y;
	shape->x2 = x2;
	shape->y2 = y2;
}

void kl_draw_text(struct kl_drawing *drawing, enum kl_anchor anchor, int degrees, double x,
		  double y, const char *text)
{
	struct kl_shape *shape = add_shape(drawing, KL_SHAPE_TEXT, KL_PEN_AXIS);

	shape->anchor = anchor;
	shape->degrees = degrees;
	shape->x = x;
	shape->y = y;
	shape->text = kl_strdup(text);
}

void kl_draw_box(struct kl_drawing *drawing, enum kl_pen pen, double x, double y, double width,
		 double height)
{
	struct kl_shape *shape = add_shape(drawing, KL_SHAPE_BOX, pen);

	shape->x = x;
	shape->y = y;
	shape->x2 = width;
	shape->y2 = height;
}

void kl_draw_mark(struct kl_drawing *drawing, enum kl_pen pen, enum kl_mark mark, double x,
		  double y, const char *description, const char *link)
{
	struct kl_shape *shape = add_shape(drawing, KL_SHAPE_MARK, pen);

	shape->mark = mark;
	shape->x = x;
	shape->y = y;
	shape->text = description ? kl_strdup(description) : NULL;
	shape->link = link ? kl_strdup(link) : NULL;
}

void kl_draw_path(struct kl_drawing *drawing, enum kl_pen pen)
{
	add_shape(drawing, KL_SHAPE_PATH, pen);
}

void kl_draw_to(struct kl_drawing *drawing, double x, double y)
{
	struct kl_shape *path = &drawing->v[drawing->n - 1];

	KL_GROW(path->point, path->npoint + 2, path->alloc);
	path->point[path->npoint++] = x;
	path->point[path->npoint++] = y;
}
