/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/useful.h"

#include <string.h>

#include "base/mem.h"
#include "base/rng.h"

#define SEED 15
#define MOST_CHANCE_PPM 50000

/* A bound between two values of a figure, or a constant. */
struct cut {
	bool constant, answer; /* constant: predict `answer` everywhere */
	size_t figure;
	bool above;     /* predict a gain above the bound */
	int64_t lo, hi; /* the values nearest to the bound */
	size_t wrong;
};

/* The points that a cut is fitted to or judged on, with room to sort them. */
struct points {
	const struct kl_useful_data *data;
	const bool *gain; /* the outcomes, possibly dealt at random */
	size_t *index, n;
	size_t *sorted;
};

static int64_t value_of(const struct points *points, size_t i, size_t figure)
{
	return points->data->value[i * points->data->nfigure + figure];
}

static bool predict(const struct cut *cut, int64_t value)
{
	/* the bound is the geometric mean of both values */
	double bound = (double)cut->lo * (double)cut->hi;

	if (cut->constant)
		return cut->answer;
	return ((double)value * (double)value > bound) == cut->above;
}

/* --- fitting ---------------------------------------------------------------------------------- */

static void sort_points(struct points *points, size_t figure)
{
	for (size_t i = 0; i < points->n; i++) {
		size_t k = i;

		for (; k && value_of(points, points->sorted[k - 1], figure) >
				    value_of(points, points->index[i], figure);
		     k--)
			points->sorted[k] = points->sorted[k - 1];
		points->sorted[k] = points->index[i];
	}
}

/* Return true if the gap of the cut is the wider one, as a factor. */
static bool is_wider(const struct cut *cut, const struct cut *than)
{
	return (double)cut->hi * (double)than->lo > (double)than->hi * (double)cut->lo;
}

static void try_cut(struct cut *best, const struct cut *cut)
{
	bool same = !best->constant && best->figure == cut->figure && best->wrong == cut->wrong;

	if (cut->wrong < best->wrong || (same && is_wider(cut, best)))
		*best = *cut;
}

/* Try all bounds of a figure, in both directions. */
static void try_figure(struct cut *best, struct points *points, size_t figure, size_t gains)
{
	size_t below = 0;

	sort_points(points, figure);
	for (size_t i = 0; i + 1 < points->n; i++) {
		struct cut cut = {
			.figure = figure,
			.lo = value_of(points, points->sorted[i], figure),
			.hi = value_of(points, points->sorted[i + 1], figure),
		};
		size_t wrong;

		below += points->gain[points->sorted[i]];
		if (cut.lo == cut.hi)
			continue;
		/* above: gains below are wrong, and points without a gain above are wrong */
		wrong = below + (points->n - i - 1) - (gains - below);
		cut.above = wrong <= points->n - wrong;
		cut.wrong = cut.above ? wrong : points->n - wrong;
		try_cut(best, &cut);
	}
}

static struct cut fit_cut(struct points *points)
{
	size_t gains = 0;
	struct cut best = { .constant = true };

	for (size_t i = 0; i < points->n; i++)
		gains += points->gain[points->index[i]];
	best.answer = 2 * gains > points->n;
	best.wrong = best.answer ? points->n - gains : gains;
	for (size_t figure = 0; figure < points->data->nfigure; figure++)
		try_figure(&best, points, figure, gains);
	return best;
}

/* --- judging ---------------------------------------------------------------------------------- */

static size_t count_right(const struct cut *cut, const struct points *points)
{
	size_t right = 0;

	for (size_t i = 0; i < points->n; i++)
		right += predict(cut, value_of(points, points->index[i], cut->figure)) ==
			 points->gain[points->index[i]];
	return right;
}

/*
 * Deal the points to two halves so that both have as many gains as possible. `half` has the indices
 * of the first half, then those of the second; returns the size of the first.
 */
static size_t deal_halves(size_t *half, const struct kl_useful_data *data, const bool *gain,
			  struct kl_rng *rng)
{
	KL_AUTO(kl_freep) size_t *order = kl_calloc(data->npoint, sizeof(*order));
	KL_AUTO(kl_freep) size_t *second = kl_calloc(data->npoint, sizeof(*second));
	size_t n = 0, nsecond = 0, dealt = 0;

	for (size_t i = 0; i < data->npoint; i++)
		order[i] = i;
	kl_rng_shuffle(rng, order, data->npoint, sizeof(*order));
	for (int which = 1; which >= 0; which--)
		for (size_t i = 0; i < data->npoint; i++) {
			if (gain[order[i]] != (which == 1))
				continue;
			if (dealt++ % 2)
				second[nsecond++] = order[i];
			else
				half[n++] = order[i];
		}
	memcpy(half + n, second, nsecond * sizeof(*second));
	return n;
}

/* Return how many points are predicted by the condition that was fitted to the other half. */
static size_t cross_judge(const struct kl_useful_data *data, const bool *gain, struct kl_rng *rng)
{
	KL_AUTO(kl_freep) size_t *half = kl_calloc(data->npoint, sizeof(*half));
	KL_AUTO(kl_freep) size_t *sorted = kl_calloc(data->npoint, sizeof(*sorted));
	size_t n = deal_halves(half, data, gain, rng);
	struct points first = { data, gain, half, n, sorted };
	struct points second = { data, gain, half + n, data->npoint - n, sorted };
	struct cut cut = fit_cut(&first);
	size_t right = count_right(&cut, &second);

	cut = fit_cut(&second);
	return right + count_right(&cut, &first);
}

static int64_t chance_of(const struct kl_useful_data *data, size_t right, struct kl_rng *rng)
{
	KL_AUTO(kl_freep) bool *gain = kl_calloc(data->npoint, sizeof(*gain));
	int64_t as_well = 1; /* the outcomes as measured are one of the deals */

	memcpy(gain, data->gain, data->npoint * sizeof(*gain));
	for (int deal = 0; deal < KL_USEFUL_DEALS; deal++) {
		kl_rng_shuffle(rng, gain, data->npoint, sizeof(*gain));
		as_well += cross_judge(data, gain, rng) >= right;
	}
	return as_well * 1000000 / (KL_USEFUL_DEALS + 1);
}

/* Take the bound from all points, now that conditions of its kind have been judged. */
static void take_bound(struct kl_useful *out, const struct kl_useful_data *data)
{
	KL_AUTO(kl_freep) size_t *index = kl_calloc(data->npoint, sizeof(*index));
	KL_AUTO(kl_freep) size_t *sorted = kl_calloc(data->npoint, sizeof(*sorted));
	struct points all = { data, data->gain, index, data->npoint, sorted };
	struct cut cut;

	for (size_t i = 0; i < data->npoint; i++)
		index[i] = i;
	cut = fit_cut(&all);
	if (cut.constant) {
		out->why = "no bound on one figure predicts more points than a constant";
		return;
	}
	out->end = KL_USEFUL_BOUND;
	out->figure = cut.figure;
	out->above = cut.above;
	out->bound = cut.above ? cut.hi : cut.lo;
	out->other = cut.above ? cut.lo : cut.hi;
	out->wrong = cut.wrong;
}

void kl_useful_fit(struct kl_useful *out, const struct kl_useful_data *data)
{
	struct kl_rng rng;
	size_t gains = 0;

	*out = (struct kl_useful){ .end = KL_USEFUL_UNKNOWN };
	for (size_t i = 0; i < data->npoint; i++)
		gains += data->gain[i];
	out->constant = 2 * gains > data->npoint ? gains : data->npoint - gains;
	if (data->npoint < KL_USEFUL_POINTS) {
		out->why = "too few points were judged";
		return;
	}
	if (!gains || gains == data->npoint) {
		out->end = gains ? KL_USEFUL_ALWAYS : KL_USEFUL_NEVER;
		return;
	}
	kl_rng_seed(&rng, SEED);
	out->judged = data->npoint;
	out->right = cross_judge(data, data->gain, &rng);
	out->chance_ppm = chance_of(data, out->right, &rng);
	if (out->right <= out->constant)
		out->why =
			"no bound predicts points that it was not fitted to better than 'always' or "
			"'never'";
	else if (out->chance_ppm > MOST_CHANCE_PPM)
		out->why = "outcomes that are dealt at random are predicted just as well";
	else
		take_bound(out, data);
}

bool kl_useful_holds(const struct kl_useful *useful, int64_t value)
{
	if (useful->end == KL_USEFUL_BOUND)
		return useful->above ? value >= useful->bound : value <= useful->bound;
	return useful->end == KL_USEFUL_ALWAYS;
}
