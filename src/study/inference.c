/* SPDX-License-Identifier: Apache-2.0 */
#include "study/inference.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/mem.h"
#include "search/policy/draw.h"
#include "search/policy/number.h"

/* of KL_DRAWS sorted draws, those below the first and above the second are outside the band */
#define BAND_LOW (KL_DRAWS / 40 - 1)
#define BAND_HIGH (KL_DRAWS - KL_DRAWS / 40 - 1)
/* quantiles of the normal distribution at 97.5 % and 80 %, added */
#define POWER_FACTOR 2.80

static int compare_numbers(const void *left, const void *right)
{
	double one = *(const double *)left, two = *(const double *)right;

	return (one > two) - (one < two);
}

static void open_stream(struct kl_rng *rng, const char *key, const char *label)
{
	struct kl_draws draws = { .key = key };

	kl_draw_open(rng, &draws, label);
}

/* Set the band from the draws, and sort these. */
static void set_band(struct kl_band *out, double *drawn)
{
	qsort(drawn, KL_DRAWS, sizeof(*drawn), compare_numbers);
	out->lo = drawn[BAND_LOW];
	out->hi = drawn[BAND_HIGH];
}

/* --- means ----------------------------------------------------------------------------------- */

static size_t count_tasks(const struct kl_strata *strata)
{
	size_t n = 0;

	for (size_t i = 0; i < strata->n; i++)
		n += strata->v[i].n > 0;
	return n;
}

double kl_inference_mean(const struct kl_strata *strata, size_t at)
{
	size_t tasks = count_tasks(strata);
	double sum = 0;

	for (size_t i = 0; i < strata->n; i++) {
		const struct kl_stratum *task = &strata->v[i];
		double part = 0;

		for (size_t k = 0; k < task->n; k++)
			part += task->cell[k][at];
		if (task->n)
			sum += part / (double)task->n;
	}
	return tasks ? sum / (double)tasks : 0;
}

/* the numbers of all cells that are drawn together: more would take too much memory */
#define CHUNK 64

/* Add to drawn[point] the means of one resampling of a task, for `n` numbers from `from` on. */
static void draw_task(double *drawn, const struct kl_stratum *task, size_t from, size_t n,
		      struct kl_rng *rng)
{
	double sum[CHUNK] = { 0 };

	for (size_t k = 0; k < task->n; k++) {
		const double *cell = task->cell[kl_rng_below(rng, task->n)];

		for (size_t i = 0; i < n; i++)
			sum[i] += cell[from + i];
	}
	for (size_t i = 0; i < n; i++)
		drawn[i * KL_DRAWS] += sum[i] / (double)task->n;
}

/* Each chunk begins the same stream, so that it draws the same cells. */
static void draw_chunk(double *drawn, const struct kl_strata *strata, size_t from, size_t n,
		       struct kl_rng *rng)
{
	size_t tasks = count_tasks(strata);

	for (size_t draw = 0; tasks && draw < KL_DRAWS; draw++) {
		for (size_t i = 0; i < strata->n; i++)
			if (strata->v[i].n)
				draw_task(drawn + draw, &strata->v[i], from, n, rng);
		for (size_t i = 0; i < n; i++)
			drawn[i * KL_DRAWS + draw] /= (double)tasks;
	}
}

void kl_inference_bands(struct kl_band *out, const struct kl_strata *strata, size_t points,
			const char *key, const char *label)
{
	for (size_t from = 0; from < points; from += CHUNK) {
		size_t n = points - from < CHUNK ? points - from : CHUNK;
		KL_AUTO(kl_freep) double *drawn = kl_calloc(n * KL_DRAWS, sizeof(*drawn));
		struct kl_rng rng;

		open_stream(&rng, key, label);
		draw_chunk(drawn, strata, from, n, &rng);
		for (size_t i = 0; i < n; i++) {
			out[from + i].mid = kl_inference_mean(strata, from + i);
			set_band(&out[from + i], drawn + i * KL_DRAWS);
		}
	}
}

/* --- better ---------------------------------------------------------------------------------- */

/* the cells of two policies on one task, together in order of their numbers */
struct contest {
	struct entry {
		double value;
		size_t cell;
		int side;
	} * v;
	size_t n[2];   /* number of cells of each policy */
	size_t *count; /* how often each cell was drawn: those of the first policy, then the other */
};

static int compare_entries(const void *left, const void *right)
{
	const struct entry *one = left, *two = right;

	if (one->value != two->value)
		return one->value > two->value ? 1 : -1;
	if (one->side != two->side)
		return one->side - two->side;
	return (one->cell > two->cell) - (one->cell < two->cell);
}

static void contest_open(struct contest *out, const struct kl_stratum *first,
			 const struct kl_stratum *second, size_t at)
{
	const struct kl_stratum *side[] = { first, second };
	size_t n = 0;

	out->n[0] = first->n;
	out->n[1] = second->n;
	out->v = kl_calloc(first->n + second->n + 1, sizeof(*out->v));
	out->count = kl_calloc(first->n + second->n + 1, sizeof(*out->count));
	for (int i = 0; i < 2; i++)
		for (size_t k = 0; k < side[i]->n; k++)
			out->v[n++] = (struct entry){ side[i]->cell[k][at], k, i };
	qsort(out->v, n, sizeof(*out->v), compare_entries);
}

static void contest_close(struct contest *contest)
{
	free(contest->v);
	free(contest->count);
}

static bool is_contest(const struct contest *contest)
{
	return contest->n[0] && contest->n[1];
}

/* Return U / (n m) of the cells as they were drawn. */
static double contest_share(const struct contest *contest)
{
	size_t n = contest->n[0] + contest->n[1];
	double wins = 0, below = 0;

	for (size_t i = 0; i < n;) {
		double tied[2] = { 0, 0 };
		double value = contest->v[i].value;

		for (; i < n && contest->v[i].value == value; i++) {
			const struct entry *entry = &contest->v[i];
			size_t at = entry->side ? contest->n[0] + entry->cell : entry->cell;

			tied[entry->side] += (double)contest->count[at];
		}
		wins += tied[0] * (below + tied[1] / 2);
		below += tied[1];
	}
	return wins / ((double)contest->n[0] * (double)contest->n[1]);
}

static void draw_contest(struct contest *contest, struct kl_rng *rng)
{
	size_t *count = contest->count;

	for (int side = 0; side < 2; side++) {
		for (size_t i = 0; i < contest->n[side]; i++)
			count[i] = 0;
		for (size_t i = 0; i < contest->n[side]; i++)
			count[kl_rng_below(rng, contest->n[side])]++;
		count += contest->n[side];
	}
}

/* Return the mean share of all tasks that both policies have, drawing the cells by `rng` if set. */
static double mean_share(struct contest *contest, size_t n, struct kl_rng *rng)
{
	size_t tasks = 0;
	double sum = 0;

	for (size_t i = 0; i < n; i++) {
		if (!is_contest(&contest[i]))
			continue;
		if (rng)
			draw_contest(&contest[i], rng);
		else
			for (size_t k = 0; k < contest[i].n[0] + contest[i].n[1]; k++)
				contest[i].count[k] = 1;
		sum += contest_share(&contest[i]);
		tasks++;
	}
	return tasks ? sum / (double)tasks : 0.5;
}

/* Return 2 / (number of ways to share out the cells): what a permutation test can reach at best. */
static double least_p(const struct contest *contest, size_t n)
{
	double p = 2;

	for (size_t i = 0; i < n; i++) {
		size_t few = contest[i].n[0], many = contest[i].n[1];

		for (size_t k = 1; is_contest(&contest[i]) && k <= few; k++)
			p *= (double)k / (double)(many + k);
	}
	return p < 1 ? p : 1;
}

static double bootstrap_p(const double *drawn)
{
	size_t below = 1, above = 1;
	double p;

	for (size_t i = 0; i < KL_DRAWS; i++) {
		below += drawn[i] <= 0.5;
		above += drawn[i] >= 0.5;
	}
	p = 2 * (double)(below < above ? below : above) / (KL_DRAWS + 1);
	return p < 1 ? p : 1;
}

void kl_inference_better(struct kl_better *out, const struct kl_strata *first,
			 const struct kl_strata *second, size_t at, const char *key,
			 const char *label)
{
	KL_AUTO(kl_freep) double *drawn = kl_calloc(KL_DRAWS, sizeof(*drawn));
	size_t n = first->n < second->n ? first->n : second->n;
	KL_AUTO(kl_freep) struct contest *contest = kl_calloc(n + 1, sizeof(*contest));
	struct kl_rng rng;
	double least;

	for (size_t i = 0; i < n; i++)
		contest_open(&contest[i], &first->v[i], &second->v[i], at);
	open_stream(&rng, key, label);
	out->band.mid = mean_share(contest, n, NULL);
	for (size_t i = 0; i < KL_DRAWS; i++)
		drawn[i] = mean_share(contest, n, &rng);
	out->p = bootstrap_p(drawn);
	least = least_p(contest, n);
	if (out->p < least)
		out->p = least;
	set_band(&out->band, drawn);
	for (size_t i = 0; i < n; i++)
		contest_close(&contest[i]);
}

/* --- Holm, deviation, power ------------------------------------------------------------------ */

void kl_inference_holm(double *p, size_t n)
{
	KL_AUTO(kl_freep) size_t *order = kl_calloc(n + 1, sizeof(*order));
	double last = 0;

	/* insertion sort: of equal p-values the first stays first */
	for (size_t i = 0; i < n; i++) {
		size_t at = i;

		for (; at && p[order[at - 1]] > p[i]; at--)
			order[at] = order[at - 1];
		order[at] = i;
	}
	for (size_t i = 0; i < n; i++) {
		double adjusted = p[order[i]] * (double)(n - i);

		last = adjusted > last ? adjusted : last;
		p[order[i]] = last < 1 ? last : 1;
	}
}

double kl_inference_sd(const struct kl_strata *strata, size_t at)
{
	double squares = 0;
	size_t freedom = 0;

	for (size_t i = 0; i < strata->n; i++) {
		const struct kl_stratum *task = &strata->v[i];
		double mean = 0;

		for (size_t k = 0; k < task->n; k++)
			mean += task->cell[k][at];
		mean /= task->n ? (double)task->n : 1;
		for (size_t k = 0; k < task->n; k++)
			squares += (task->cell[k][at] - mean) * (task->cell[k][at] - mean);
		freedom += task->n ? task->n - 1 : 0;
	}
	return freedom ? kl_number_sqrt(squares / (double)freedom) : -1;
}

double kl_inference_power(double sd, size_t cells)
{
	return kl_number_exp(POWER_FACTOR * sd * kl_number_sqrt(2 / (double)cells));
}
