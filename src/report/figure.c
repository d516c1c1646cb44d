/* SPDX-License-Identifier: Apache-2.0 */
#include "report/figure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "report/axis.h"
#include "report/roofline.h"

#define MAX_POINTS 400 /* most states that a figure shows; the table on the page shows all states */
#define LABEL_GAP 32   /* least distance of two labels below the states */

/* The part of a figure in which values are drawn, and how its states are spread. */
struct field {
	double left, right, top, bottom, gap;
	size_t stride; /* every how many states one is drawn */
	bool narrow;
};

static void begin_figure(struct kl_drawing *out, int width, int height, char *title)
{
	*out = (struct kl_drawing){ .width = width, .height = height, .title = title };
}

/* Spread `n` states over the width; below them there is room for labels and the axis's title. */
static struct field open_field(struct kl_drawing *out, size_t n)
{
	bool narrow = out->width < KL_FIGURE_NARROW;
	struct field field = { .left = narrow ? 52 : 74,
			       .right = out->width - (narrow ? 12 : 30),
			       .top = 34,
			       .bottom = out->height - (narrow ? 62 : 140),
			       .stride = n / MAX_POINTS + 1,
			       .narrow = narrow };

	field.gap = n > 1 ? (field.right - field.left - 36) / (double)(n - 1) : 0;
	return field;
}

static double state_at(const struct field *field, size_t i)
{
	return field->left + 18 + field->gap * (double)i;
}

static const char *step_name(const struct kl_view_step *step, size_t i)
{
	return i ? kl_view_step_name(step) : "(simplest)";
}

static void label_states(struct kl_drawing *out, const struct field *field,
			 const struct kl_view *view)
{
	size_t every = field->gap > 0 ? (size_t)ceil(LABEL_GAP / field->gap) : 1;

	kl_draw_line(out, KL_PEN_AXIS, field->left, field->bottom, field->right, field->bottom);
	for (size_t i = 0; i < view->n; i += every ? every : 1) {
		KL_AUTO(kl_freep)
		char *words = field->narrow ?
				      kl_asprintf("K_%zu", i) :
				      kl_asprintf("K_%zu %.18s", i, step_name(&view->step[i], i));

		kl_draw_text(out, field->narrow ? KL_ANCHOR_MIDDLE : KL_ANCHOR_END,
			     field->narrow ? 0 : -40, state_at(field, i) + (field->narrow ? 0 : 5),
			     field->bottom + 18, words);
	}
	kl_draw_text(out, KL_ANCHOR_MIDDLE, 0, (field->left + field->right) / 2, out->height - 8,
		     "state, from the simplest kernel to the expert's");
}

/* --- speed in percent of the reference ----------------------------------------------------- */

static double percent(int64_t ppm)
{
	return (double)ppm / 1e4;
}

static char *reference_name(const struct kl_report_content *content)
{
	size_t last = content->view->n - 1;

	return *content->reference ? kl_strdup(content->reference) :
				     kl_asprintf("K_%zu, the expert", last);
}

/* Return the share of the roofline in the speed of the reference, in percent; 0: unknown. */
static double roof_percent(const struct kl_report_content *content)
{
	struct kl_roofline roofline = kl_roofline_of(content);

	for (size_t i = content->view->n; i-- > 0 && roofline.ns > 0;)
		if (content->speed[i].share.ppm > 0 && content->view->step[i].ns > 0)
			return percent(content->speed[i].share.ppm) *
			       (double)content->view->step[i].ns / roofline.ns;
	return 0;
}

static struct kl_axis share_axis(const struct kl_report_content *content, const struct field *field)
{
	struct kl_axis axis = { true, 0, 100, field->bottom, field->top };

	for (size_t i = 0; i < content->view->n; i++)
		kl_axis_include(&axis, percent(content->speed[i].share.hi));
	kl_axis_widen(&axis);
	return axis;
}

static void draw_state(struct kl_drawing *out, const struct kl_report_content *content, size_t i,
		       const struct field *field, const struct kl_axis *axis)
{
	const struct kl_ratio *share = &content->speed[i].share;
	double x = state_at(field, i);
	KL_AUTO(kl_freep)
	char *link = kl_asprintf("#%s/K_%zu", content->id, i);
	KL_AUTO(kl_freep)
	char *words = kl_asprintf("K_%zu %s: %.1f %% [%.1f, %.1f]%s", i,
				  step_name(&content->view->step[i], i), percent(share->ppm),
				  percent(share->lo), percent(share->hi),
				  content->speed[i].measured ? "" : ", from neighbouring states");

	if (share->lo < share->hi)
		kl_draw_line(out, KL_PEN_SPAN, x, kl_axis_position(axis, percent(share->lo)), x,
			     kl_axis_position(axis, percent(share->hi)));
	kl_draw_mark(out, KL_PEN_TRACE, KL_MARK_DOT, x, kl_axis_position(axis, percent(share->ppm)),
		     words, link);
}

/* Draw a cross for each step that was rejected at a state, one below the other. */
static void draw_rejected(struct kl_drawing *out, const struct kl_report_content *content,
			  const struct field *field, const struct kl_axis *axis)
{
	KL_AUTO(kl_freep)
	size_t *drawn = kl_calloc(content->view->n, sizeof(*drawn));

	for (size_t k = content->rejections.n; k-- > 0;) {
		const struct kl_report_rejected *rejected = &content->rejected[k];
		const struct kl_step *step = &content->rejections.r[k].step;
		double x, y;
		KL_AUTO(kl_freep)
		char *link = kl_asprintf("#%s/rejected-%zu", content->id,
					 content->rejections.n - k);
		KL_AUTO(kl_freep)
		char *words = kl_asprintf("rejected at K_%zu: %s, %s", rejected->on,
					  step->text ? step->text : "?",
					  step->class_ ? step->class_ : "?");

		if (rejected->on >= content->view->n)
			continue;
		x = state_at(field, rejected->on);
		y = kl_axis_position(axis, percent(content->speed[rejected->on].share.ppm));
		y += 13 * (double)++drawn[rejected->on];
		if (y > field->bottom - 6) /* no room below the state: above it */
			y -= 13 * (double)(2 * drawn[rejected->on]);
		kl_draw_mark(out, KL_PEN_REJECTED, KL_MARK_CROSS, x, y, words, link);
	}
}

/* Draw what the speeds are compared with: the reference, and the roofline if it is on the axis. */
static void draw_references(struct kl_drawing *out, const struct kl_report_content *content,
			    const struct field *field, const struct kl_axis *axis)
{
	KL_AUTO(kl_freep) char *name = reference_name(content);
	KL_AUTO(kl_freep) char *words = kl_asprintf("100%% is %s", name);
	double at = kl_axis_position(axis, 100), roof = roof_percent(content);

	kl_draw_line(out, KL_PEN_REFERENCE, field->left, at, field->right, at);
	kl_draw_text(out, KL_ANCHOR_START, 0, field->left + 8, at - 5, words);
	if (roof <= 0 || roof > axis->hi)
		return;
	at = kl_axis_position(axis, roof);
	kl_draw_line(out, KL_PEN_ROOF, field->left, at, field->right, at);
	kl_draw_text(out, KL_ANCHOR_START, 0, field->left + 8, at - 5, "roofline");
}

void kl_figure_share(struct kl_drawing *out, const struct kl_report_content *content, int width)
{
	const struct kl_view *view = content->view;
	KL_AUTO(kl_freep) char *name = reference_name(content);
	KL_AUTO(kl_freep) char *heading = NULL;
	struct field field;
	struct kl_axis axis;

	begin_figure(out, width, width < KL_FIGURE_NARROW ? 340 : 448,
		     kl_asprintf("speed of each state of %s/%s in percent of %s", view->workload,
				 view->name, name));
	field = open_field(out, view->n);
	axis = share_axis(content, &field);
	heading = kl_asprintf("speed, %% of %.40s", name);
	kl_draw_text(out, KL_ANCHOR_START, 0, 8, 18, heading);
	kl_axis_draw(out, &axis, field.left, field.right, "%");
	label_states(out, &field, view);
	draw_references(out, content, &field, &axis);
	kl_draw_path(out, KL_PEN_TRACE);
	for (size_t i = 0; i < view->n; i += field.stride)
		if (content->speed[i].share.ppm > 0)
			kl_draw_to(out, state_at(&field, i),
				   kl_axis_position(&axis, percent(content->speed[i].share.ppm)));
	for (size_t i = 0; i < view->n; i += field.stride)
		if (content->speed[i].share.ppm > 0)
			draw_state(out, content, i, &field, &axis);
	draw_rejected(out, content, &field, &axis);
}

void kl_figure_lineages(struct kl_drawing *out, const struct kl_report_content *content, size_t n,
			int width)
{
	static const enum kl_pen pens[] = { KL_PEN_TRACE, KL_PEN_OTHER, KL_PEN_THIRD };
	static const enum kl_mark marks[] = { KL_MARK_DOT, KL_MARK_SQUARE, KL_MARK_TRIANGLE };
	struct field field;
	struct kl_axis axis;

	n = n < KL_FIGURE_LINEAGES ? n : KL_FIGURE_LINEAGES;
	begin_figure(out, width, 400, kl_strdup("speeds of several lineages"));
	field = open_field(out, 2);
	field.bottom = out->height - 40 - 20 * (double)n;
	axis = share_axis(&content[0], &field);
	for (size_t k = 1; k < n; k++) {
		struct kl_axis other = share_axis(&content[k], &field);

		kl_axis_include(&axis, other.hi);
	}
	kl_draw_text(out, KL_ANCHOR_START, 0, 8, 18, "speed, % of each lineage's own reference");
	kl_axis_draw(out, &axis, field.left, field.right, "%");
	kl_draw_line(out, KL_PEN_AXIS, field.left, field.bottom, field.right, field.bottom);
	kl_draw_text(out, KL_ANCHOR_MIDDLE, 0, (field.left + field.right) / 2, field.bottom + 18,
		     "simplest kernel on the left, the expert's on the right");
	for (size_t k = 0; k < n; k++) {
		const struct kl_view *view = content[k].view;
		double gap = view->n > 1 ? (field.right - field.left - 36) / (double)(view->n - 1) :
					   0;
		double line = field.bottom + 40 + 20 * (double)k;
		KL_AUTO(kl_freep) char *name = reference_name(&content[k]);
		KL_AUTO(kl_freep)
		char *words = kl_asprintf("%s/%s, 100%% is %s", view->workload, view->name, name);

		kl_draw_path(out, pens[k]);
		for (size_t i = 0; i < view->n; i++)
			if (content[k].speed[i].share.ppm > 0)
				kl_draw_to(out, field.left + 18 + gap * (double)i,
					   kl_axis_position(
						   &axis, percent(content[k].speed[i].share.ppm)));
		for (size_t i = 0; i < view->n; i += view->n / MAX_POINTS + 1)
			if (content[k].speed[i].share.ppm > 0)
				kl_draw_mark(out, pens[k], marks[k],
					     field.left + 18 + gap * (double)i,
					     kl_axis_position(
						     &axis, percent(content[k].speed[i].share.ppm)),
					     NULL, NULL);
		kl_draw_line(out, pens[k], field.left, line, field.left + 40, line);
		kl_draw_mark(out, pens[k], marks[k], field.left + 20, line, NULL, NULL);
		kl_draw_text(out, KL_ANCHOR_START, 0, field.left + 50, line + 4, words);
	}
}

/* --- speed against K_0 --------------------------------------------------------------------- */

static double step_speed(const struct kl_view_step *step, size_t i)
{
	return i ? (double)step->root.ppm / 1e6 : 1;
}

static bool has_speed(const struct kl_view_step *step, size_t i)
{
	return !i || step->root.ppm > 0;
}

/*
 * Return the speed of the reference compared with K_0, computed from the last state whose speeds
 * against both are known; 0: there is no such state.
 */
static double reference_speed(const struct kl_report_content *content)
{
	const struct kl_view *view = content->view;

	for (size_t i = view->n; i-- > 0 && *content->reference;)
		if (content->speed[i].share.ppm > 0 && has_speed(&view->step[i], i))
			return step_speed(&view->step[i], i) * 1e6 /
			       (double)content->speed[i].share.ppm;
	return 0;
}

static struct kl_axis factor_axis(const struct kl_report_content *content, double base,
				  const struct field *field)
{
	const struct kl_view *view = content->view;
	struct kl_axis axis = { false, 1, 1, field->bottom, field->top };

	for (size_t i = 1; i < view->n; i++) {
		const struct kl_ratio *ratio = &view->step[i].root;

		if (ratio->ppm <= 0)
			continue;
		kl_axis_include(&axis, (double)(ratio->lo > 0 ? ratio->lo : ratio->ppm) / 1e6);
		kl_axis_include(&axis, (double)(ratio->hi > 0 ? ratio->hi : ratio->ppm) / 1e6);
	}
	if (base > 0)
		kl_axis_include(&axis, base);
	kl_axis_widen(&axis);
	return axis;
}

static void draw_factor(struct kl_drawing *out, const struct kl_view_step *step, size_t i, double x,
			const struct kl_axis *axis)
{
	char factor[24];
	KL_AUTO(kl_freep) char *words = NULL;

	kl_view_factor(factor, step_speed(step, i));
	words = kl_asprintf("K_%zu %s: %s×", i, step_name(step, i), factor);
	if (i && step->root.lo > 0)
		kl_draw_line(out, KL_PEN_SPAN, x,
			     kl_axis_position(axis, (double)step->root.lo / 1e6), x,
			     kl_axis_position(axis, (double)step->root.hi / 1e6));
	kl_draw_mark(out, KL_PEN_TRACE, KL_MARK_DOT, x, kl_axis_position(axis, step_speed(step, i)),
		     words, NULL);
}

void kl_figure_trace(struct kl_drawing *out, const struct kl_report_content *content, int width)
{
	const struct kl_view *view = content->view;
	double base = reference_speed(content);
	struct field field;
	struct kl_axis axis;

	begin_figure(out, width, width < KL_FIGURE_NARROW ? 340 : 448,
		     kl_asprintf("speed of each state of %s/%s against K_0", view->workload,
				 view->name));
	field = open_field(out, view->n);
	axis = factor_axis(content, base, &field);
	kl_draw_text(out, KL_ANCHOR_START, 0, 8, 18, "speed against K_0, logarithmic");
	kl_axis_draw(out, &axis, field.left, field.right, "×");
	label_states(out, &field, view);
	if (base > 0) {
		kl_draw_line(out, KL_PEN_REFERENCE, field.left, kl_axis_position(&axis, base),
			     field.right, kl_axis_position(&axis, base));
		kl_draw_text(out, KL_ANCHOR_START, 0, field.left + 8,
			     kl_axis_position(&axis, base) - 5, content->reference);
	}
	kl_draw_path(out, KL_PEN_TRACE);
	for (size_t i = 0; i < view->n; i += field.stride)
		if (has_speed(&view->step[i], i))
			kl_draw_to(out, state_at(&field, i),
				   kl_axis_position(&axis, step_speed(&view->step[i], i)));
	for (size_t i = 0; i < view->n; i += field.stride)
		if (has_speed(&view->step[i], i))
			draw_factor(out, &view->step[i], i, state_at(&field, i), &axis);
}
