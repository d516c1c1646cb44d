/* SPDX-License-Identifier: Apache-2.0 */
/* drawing_tikz - writes the shapes of a figure as a tikzpicture for LaTeX */
#include <ctype.h>
#include <string.h>

#include "report/drawing.h"

/* The look of each pen: options of \draw. The colors are defined at the start of the picture. */
static const char *const pens[KL_PENS] = {
	[KL_PEN_AXIS] = "black",
	[KL_PEN_GRID] = "black!15",
	[KL_PEN_TRACE] = "kltrace, thick",
	[KL_PEN_OTHER] = "klother, thick, dashed",
	[KL_PEN_THIRD] = "klthird, thick, dotted",
	[KL_PEN_SPAN] = "black",
	[KL_PEN_REFERENCE] = "black, dashed",
	[KL_PEN_ROOF] = "black, dotted",
	[KL_PEN_FASTER] = "kltrace, fill=kltrace",
	[KL_PEN_SLOWER] = "klreject, thick",
	[KL_PEN_REJECTED] = "klreject, thick",
};

static const char *const anchors[] = { "base west", "base", "base east" };

/* What LaTeX understands of the characters beyond ASCII that figures use. */
static size_t add_wide(struct kl_buf *out, const char *text)
{
	static const struct {
		const char *utf8, *tex;
	} known[] = { { "×", "$\\times$" }, { "µ", "$\\mu$" }, { "–", "--" }, { "±", "$\\pm$" } };
	size_t n = 1;

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (!strncmp(text, known[i].utf8, strlen(known[i].utf8))) {
			kl_buf_adds(out, known[i].tex);
			return strlen(known[i].utf8);
		}
	while (((unsigned char)text[n] & 0xc0) == 0x80)
		n++;
	kl_buf_addch(out, '?');
	return n;
}

/*
 * Escape a text for LaTeX: no character of it starts a command, a comment or mathematics. "K_3" is
 * written with an index.
 */
static void add_escaped(struct kl_buf *out, const char *text)
{
	for (const char *at = text; *at;) {
		if (at[0] == 'K' && at[1] == '_' && isdigit((unsigned char)at[2])) {
			size_t n = strspn(at + 2, "0123456789");

			kl_buf_addf(out, "$\\mathsf{K}_{%.*s}$", (int)n, at + 2);
			at += 2 + n;
			continue;
		}
		if ((unsigned char)*at >= 0x80) {
			at += add_wide(out, at);
			continue;
		}
		if (strchr("{}$&#_%", *at))
			kl_buf_addf(out, "\\%c", *at);
		else if (strchr("\\^~<>|\"`'", *at))
			kl_buf_addf(out, "\\char%d{}", *at);
		else
			kl_buf_addch(out, isprint((unsigned char)*at) ? *at : '?');
		at++;
	}
}

static void add_mark(struct kl_buf *out, const struct kl_shape *shape)
{
	const char *pen = pens[shape->pen];
	double x = shape->x, y = shape->y;

	if (shape->mark == KL_MARK_DOT)
		kl_buf_addf(out, "\\draw[%s, fill] (%.1f, %.1f) circle (4);\n", pen, x, y);
	else if (shape->mark == KL_MARK_SQUARE)
		kl_buf_addf(out, "\\draw[%s, solid, fill] (%.1f, %.1f) rectangle +(8, 8);\n", pen,
			    x - 4, y - 4);
	else if (shape->mark == KL_MARK_TRIANGLE)
		kl_buf_addf(
			out,
			"\\draw[%s, solid, fill] (%.1f, %.1f) -- +(5, 9) -- +(-5, 9) -- cycle;\n",
			pen, x, y - 6);
	else
		kl_buf_addf(out, "\\draw[%s] (%.1f, %.1f) -- +(8, 8) +(8, 0) -- +(0, 8);\n", pen,
			    x - 4, y - 4);
}

static void add_shape(struct kl_buf *out, const struct kl_shape *shape)
{
	const char *pen = pens[shape->pen];

	switch (shape->kind) {
	case KL_SHAPE_LINE:
		kl_buf_addf(out, "\\draw[%s] (%.1f, %.1f) -- (%.1f, %.1f);\n", pen, shape->x,
			    shape->y, shape->x2, shape->y2);
		break;
	case KL_SHAPE_TEXT:
		kl_buf_addf(out, "\\node[anchor=%s, rotate=%d] at (%.1f, %.1f) {",
			    anchors[shape->anchor], -shape->degrees, shape->x, shape->y);
		add_escaped(out, shape->text);
		kl_buf_adds(out, "};\n");
		break;
	case KL_SHAPE_BOX:
		kl_buf_addf(out, "\\draw[%s] (%.1f, %.1f) rectangle +(%.1f, %.1f);\n", pen,
			    shape->x, shape->y, shape->x2, shape->y2);
		break;
	case KL_SHAPE_MARK:
		add_mark(out, shape);
		break;
	case KL_SHAPE_PATH:
		if (shape->npoint < 4)
			break;
		kl_buf_addf(out, "\\draw[%s]", pen);
		for (size_t i = 0; i + 1 < shape->npoint; i += 2)
			kl_buf_addf(out, "%s (%.1f, %.1f)", i ? " --" : "", shape->point[i],
				    shape->point[i + 1]);
		kl_buf_adds(out, ";\n");
	}
}

void kl_drawing_tikz(struct kl_buf *out, const struct kl_drawing *drawing)
{
	kl_buf_adds(out, "% ");
	add_escaped(out, drawing->title ? drawing->title : "");
	kl_buf_adds(out,
		    "\n% needs \\usepackage{tikz}\n"
		    "\\begin{tikzpicture}[x=0.57pt, y=-0.57pt, every node/.style={inner sep=0pt, "
		    "font=\\scriptsize\\sffamily}]\n"
		    "\\definecolor{kltrace}{HTML}{0B6579}\\definecolor{klother}{HTML}{8A3B12}\n"
		    "\\definecolor{klthird}{HTML}{5B3A8C}\\definecolor{klreject}{HTML}{A61E1E}\n");
	for (size_t i = 0; i < drawing->n; i++)
		add_shape(out, &drawing->v[i]);
	kl_buf_adds(out, "\\end{tikzpicture}\n");
}
