/* SPDX-License-Identifier: Apache-2.0 */
/* figure_steps - figures of single steps: what each gained, and what the re-derived ones cost */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "report/axis.h"
#include "report/figure.h"

#define MAX_STEPS 400
#define ROW 22 /* height of a step, in pixels */

/* --- speed against the previous state ------------------------------------------------------ */

static struct kl_axis steps_axis(const struct kl_view *view, size_t n, double left, double right)
{
	struct kl_axis axis = { false, 1, 1, left, right };

	for (size_t i = 1; i < n; i++) {
		const struct kl_ratio *ratio = &view->step[i].prev;

		if (ratio->ppm <= 0)
			continue;
		kl_axis_include(&axis, (double)(ratio->lo > 0 ? ratio->lo : ratio->ppm) / 1e6);
		kl_axis_include(&axis, (double)(ratio->hi > 0 ? ratio->hi : ratio->ppm) / 1e6);
	}
	kl_axis_widen(&axis);
	return axis;
}

static void draw_ticks(struct kl_drawing *out, const struct kl_axis *axis)
{
	double tick[KL_AXIS_TICKS], last = -100;
	size_t n = kl_axis_ticks(tick, axis);
	char words[40];

	for (size_t i = 0; i < n; i++) {
		double at = kl_axis_position(axis, tick[i]);

		if (at - last < 34)
			continue;
		last = at;
		kl_draw_line(out, KL_PEN_GRID, at, 28, at, out->height - 42);
		snprintf(words, sizeof(words), "%g×", tick[i]);
		kl_draw_text(out, KL_ANCHOR_MIDDLE, 0, at, out->height - 26, words);
	}
	kl_draw_text(out, KL_ANCHOR_MIDDLE, 0, out->width / 2.0, out->height - 6,
		     "speed against the previous state, logarithmic");
}

static void draw_step(struct kl_drawing *out, const struct kl_view_step *step, size_t i,
		      const struct kl_axis *axis)
{
	const struct kl_ratio *ratio = &step->prev;
	double y = 22 + ROW * (double)(i - 1) + 10, one = kl_axis_position(axis, 1),
	       to = kl_axis_position(axis, (double)ratio->ppm / 1e6);
	bool slower = ratio->ppm < 1000000;
	KL_AUTO(kl_freep)
	char *label = kl_asprintf("K_%zu %.*s", i, out->width < KL_FIGURE_NARROW ? 15 : 24,
				  kl_view_step_name(step));
	char factor[24];
	KL_AUTO(kl_freep) char *words = NULL;

	kl_draw_text(out, KL_ANCHOR_END, 0, axis->from - 8, y + 9, label);
	if (ratio->ppm <= 0)
		return;
	kl_view_factor(factor, (double)ratio->ppm / 1e6);
	words = kl_asprintf("%s×%s", factor, step->speed == KL_SPEED_SLOW ? " slower" : "");
	kl_draw_box(out, slower ? KL_PEN_SLOWER : KL_PEN_FASTER, fmin(one, to), y - 2,
		    fmax(fabs(to - one), 1), 12);
	if (ratio->lo > 0)
		kl_draw_line(out, KL_PEN_SPAN, kl_axis_position(axis, (double)ratio->lo / 1e6),
			     y + 4, kl_axis_position(axis, (double)ratio->hi / 1e6), y + 4);
	kl_draw_text(out, KL_ANCHOR_START, 0, axis->to + 8, y + 9, words);
}

void kl_figure_steps(struct kl_drawing *out, const struct kl_report_content *content, int width)
{
	const struct kl_view *view = content->view;
	bool narrow = width < KL_FIGURE_NARROW;
	size_t n = view->n > MAX_STEPS ? MAX_STEPS : view->n;
	struct kl_axis axis = steps_axis(view, n, narrow ? 140 : 220, width - (narrow ? 92 : 110));
	double one = kl_axis_position(&axis, 1);

	*out = (struct kl_drawing){
		.width = width,
		.height = 84 + ROW * (int)(n - 1),
		.title = kl_asprintf("speed of each state of %s/%s against the previous state",
				     view->workload, view->name),
	};
	draw_ticks(out, &axis);
	for (size_t i = 1; i < n; i++)
		draw_step(out, &view->step[i], i, &axis);
	kl_draw_line(out, KL_PEN_AXIS, one, 22, one, out->height - 42);
}

/* --- speed against money spent ------------------------------------------------------------- */

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

/* Return the speed of a re-derived state compared with K_0; 0: unknown, or not re-derived. */
static double rederived_speed(const struct kl_view *view, size_t i)
{
	return git_oid_is_zero(&view->step[i].rederived) ? 0 : (double)view->step[i].root.ppm / 1e6;
}

static bool is_of(const struct kl_ledger_entry *entry, const struct kl_view *view)
{
	return entry->name && !strcmp(entry->name, view->name);
}

static void draw_spending(struct kl_drawing *out, const struct kl_view *view,
			  const struct kl_ledger *ledger, int64_t total, const struct kl_axis *axis)
{
	const double left = 70, right = out->width - 40;
	double best = 1;
	int64_t spent = 0;

	kl_draw_path(out, KL_PEN_TRACE);
	kl_draw_to(out, left, kl_axis_position(axis, 1));
	for (size_t i = 0; i < ledger->n; i++) {
		const struct kl_ledger_entry *entry = &ledger->e[i];
		size_t k = entry->phase ? phase_step(view, entry->phase) : 0;
		double x;

		if (entry->kind == KL_LEDGER_RESERVE || !is_of(entry, view))
			continue;
		spent += kl_ledger_settled_by(entry);
		x = left + (right - left) * (double)spent / (double)total;
		kl_draw_to(out, x, kl_axis_position(axis, best));
		if (k)
			best = fmax(best, rederived_speed(view, k));
		kl_draw_to(out, x, kl_axis_position(axis, best));
	}
}

bool kl_figure_cost(struct kl_drawing *out, const struct kl_report_content *content,
		    const struct kl_ledger *ledger, int width)
{
	const struct kl_view *view = content->view;
	const double left = 70, right = width - 40, bottom = 290;
	struct kl_axis axis = { false, 1, 1, bottom, 34 };
	int64_t total = 0;
	char words[40];

	for (size_t i = 0; i < ledger->n; i++)
		if (is_of(&ledger->e[i], view))
			total += kl_ledger_settled_by(&ledger->e[i]);
	if (total <= 0)
		return false;
	for (size_t i = 1; i < view->n; i++)
		kl_axis_include(&axis, fmax(1, rederived_speed(view, i)));
	kl_axis_widen(&axis);
	*out = (struct kl_drawing){
		.width = width,
		.height = 350,
		.title = kl_asprintf("best re-derived state of %s/%s against the money spent",
				     view->workload, view->name),
	};
	kl_draw_text(out, KL_ANCHOR_START, 0, 8, 18, "best speed against K_0, logarithmic");
	kl_axis_draw(out, &axis, left, right, "×");
	kl_draw_line(out, KL_PEN_AXIS, left, bottom, right, bottom);
	for (int i = 0; i <= 4; i++) {
		snprintf(words, sizeof(words), "$%.2f", (double)total / 1e9 * i / 4);
		kl_draw_text(out, KL_ANCHOR_MIDDLE, 0, left + (right - left) * i / 4, bottom + 20,
			     words);
	}
	kl_draw_text(out, KL_ANCHOR_MIDDLE, 0, (left + right) / 2, out->height - 8,
		     "spent on language models");
	draw_spending(out, view, ledger, total, &axis);
	return true;
}
