/* SPDX-License-Identifier: Apache-2.0 */
#include "report/axis.h"

#include <math.h>
#include <stdio.h>

double kl_axis_position(const struct kl_axis *axis, double value)
{
	double part;

	value = fmin(fmax(value, axis->lo), axis->hi);
	part = axis->linear ? (value - axis->lo) / (axis->hi - axis->lo) :
			      (log(value) - log(axis->lo)) / (log(axis->hi) - log(axis->lo));
	return axis->from + part * (axis->to - axis->from);
}

void kl_axis_include(struct kl_axis *axis, double value)
{
	axis->lo = fmin(axis->lo, value);
	axis->hi = fmax(axis->hi, value);
}

void kl_axis_widen(struct kl_axis *axis)
{
	if (axis->linear) {
		axis->hi += (axis->hi - axis->lo) * 0.06;
		return;
	}
	axis->lo /= 1.06;
	axis->hi *= 1.06;
	if (axis->hi / axis->lo < 1.3) {
		axis->lo /= 1.15;
		axis->hi *= 1.15;
	}
}

/* Choose multiples of 1, 2 or 5 times a power of ten, at most some six of them. */
static size_t linear_ticks(double out[KL_AXIS_TICKS], const struct kl_axis *axis)
{
	double step = pow(10, floor(log10((axis->hi - axis->lo) / 4)));
	size_t n = 0;

	if ((axis->hi - axis->lo) / step > 12)
		step *= 5;
	else if ((axis->hi - axis->lo) / step > 6)
		step *= 2;
	for (double value = ceil(axis->lo / step) * step; value <= axis->hi && n < KL_AXIS_TICKS;
	     value += step)
		out[n++] = fabs(value) < step / 2 ? 0 : value;
	return n;
}

/*
 * Choose round factors: 1, 2 and 5 times each power of ten; on an axis of several decades, 1 and 5
 * times, or only 1 time.
 */
static size_t factor_ticks(double out[KL_AXIS_TICKS], const struct kl_axis *axis)
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

size_t kl_axis_ticks(double out[KL_AXIS_TICKS], const struct kl_axis *axis)
{
	return axis->linear ? linear_ticks(out, axis) : factor_ticks(out, axis);
}

void kl_axis_draw(struct kl_drawing *drawing, const struct kl_axis *axis, double left, double right,
		  const char *unit)
{
	double tick[KL_AXIS_TICKS];
	size_t n = kl_axis_ticks(tick, axis);
	char words[40];

	for (size_t i = 0; i < n; i++) {
		double at = kl_axis_position(axis, tick[i]);

		kl_draw_line(drawing, KL_PEN_GRID, left, at, right, at);
		snprintf(words, sizeof(words), "%g%s", tick[i], unit);
		kl_draw_text(drawing, KL_ANCHOR_END, 0, left - 6, at + 4, words);
	}
	kl_draw_line(drawing, KL_PEN_AXIS, left, axis->from, left, axis->to);
}
