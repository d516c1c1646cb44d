/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/measure/blocks.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"

/*
 * A run ends before the time is up if every comparison is settled. A difference counts if it
 * exceeds a limit: the larger of 1 % and three times the reach of the A/A interval, which is the
 * distance of its farther end from 0. A comparison is settled in one of three cases:
 *
 * - Its interval lies wholly beyond this limit and beyond 1.5 %.
 * - Its interval lies wholly within the limit that is expected when the time is up. The limit can
 *   fall until then: the A/A interval narrows with the square root of the number of blocks.
 * - Its interval is narrow: its half-width is at most the larger of 0.25 % and a tenth of the
 *   difference, and the half-width of A/A is at most the larger of 0.33 % and an eighth of the
 *   smallest difference.
 *
 * If there is nothing to compare with, an A/A half-width of at most 5 % is good enough.
 */
#define FAR 0.01
#define BEYOND_DOUBT 1.5
#define AA_HALF 0.0033
#define AA_SHARE 0.125
#define AA_ALONE 0.05
#define VS_HALF 0.0025
#define VS_SHARE 0.1
/*
 * If calls are slow, fewer blocks than kl_blocks.min are enough: with LEAST_BLOCKS blocks, a run
 * can end once 1 / SLOW_SHARE of the time has passed.
 */
#define LEAST_BLOCKS 4
#define SLOW_SHARE 8
/*
 * the absolute value of a standard normal variable is below HALF_OF_NORMAL with a probability of
 * 1/2 and below THIRD_OF_NORMAL with a probability of 1/3
 */
#define HALF_OF_NORMAL 0.6745
#define THIRD_OF_NORMAL 0.4307

/* -- measuring ------------------------------------------------------------- */

static int64_t clock_ns_now(const struct kl_blocks *blocks)
{
	return blocks->clock_ns ? blocks->clock_ns(blocks->ctx) : kl_clock_ns();
}

static void draw_order(struct kl_rng *rng, int order[KL_BLOCKS_SUBJECTS])
{
	for (int i = 0; i < KL_BLOCKS_SUBJECTS; i++)
		order[i] = i;
	kl_rng_shuffle(rng, order, KL_BLOCKS_SUBJECTS, sizeof(*order));
}

/*
 * Measure all subjects in a random order and then in reverse, such as P B C C' C' C B P (parent,
 * baseline, the candidate's two subjects). A new order is drawn for each block, since times depend
 * a little on the subject measured just before. A subject with `once` set is measured only once in
 * the block.
 */
static int measure_block(struct kl_blocks *blocks)
{
	int order[KL_BLOCKS_SUBJECTS], n[KL_BLOCKS_SUBJECTS] = { 0 }, err;
	double sum[KL_BLOCKS_SUBJECTS] = { 0 };

	draw_order(blocks->rng, order);
	if (blocks->begin)
		blocks->begin(blocks->ctx);
	for (int i = 0; i < 2 * KL_BLOCKS_SUBJECTS; i++) {
		int who = order[i < KL_BLOCKS_SUBJECTS ? i : 2 * KL_BLOCKS_SUBJECTS - 1 - i];
		struct kl_blocks_subject *subject = &blocks->subject[who];

		if (!subject->there || (n[who] && subject->once))
			continue;
		if ((err = blocks->sample(blocks->ctx, (enum kl_blocks_who)who, &sum[who])))
			return err;
		n[who]++;
	}
	for (int i = 0; i < KL_BLOCKS_SUBJECTS; i++)
		if (blocks->subject[i].there)
			blocks->subject[i].log_ns[blocks->n] = sum[i] / n[i];
	blocks->n++;
	return 0;
}

static void make_room(struct kl_blocks *blocks)
{
	if (blocks->n < blocks->alloc)
		return;
	blocks->alloc = 2 * blocks->alloc + 16;
	for (int i = 0; i < KL_BLOCKS_SUBJECTS; i++)
		blocks->subject[i].log_ns = kl_realloc(blocks->subject[i].log_ns, blocks->alloc,
						       sizeof(double));
}

void kl_blocks_release(struct kl_blocks *blocks)
{
	for (int i = 0; i < KL_BLOCKS_SUBJECTS; i++) {
		free(blocks->subject[i].log_ns);
		blocks->subject[i].log_ns = NULL;
	}
	blocks->n = blocks->alloc = 0;
}

/* -- statistics ------------------------------------------------------------ */

static double own_time(const struct kl_blocks *blocks, size_t i)
{
	return (blocks->subject[KL_BLOCKS_CANDIDATE].log_ns[i] +
		blocks->subject[KL_BLOCKS_AGAIN].log_ns[i]) /
	       2;
}

struct kl_interval kl_blocks_ratio(const struct kl_blocks *blocks, enum kl_blocks_who who)
{
	KL_AUTO(kl_freep) double *ratios = kl_calloc(blocks->n, sizeof(*ratios));
	const double *logs = blocks->subject[who].log_ns;

	for (size_t i = 0; i < blocks->n; i++)
		ratios[i] = who == KL_BLOCKS_AGAIN ?
				    logs[i] - blocks->subject[KL_BLOCKS_CANDIDATE].log_ns[i] :
				    logs[i] - own_time(blocks, i);
	return kl_stats_centre(ratios, blocks->n);
}

static double half_width(struct kl_interval interval)
{
	return (interval.hi - interval.lo) / 2;
}

static double interval_reach(struct kl_interval aa)
{
	return fmax(aa.hi, -aa.lo);
}

/* Return the lowest log ratio that counts as a difference if the A/A ratio can be off by `aa`. */
static double far_limit(double aa)
{
	return log1p(fmax(FAR, 3 * aa));
}

static int compare_doubles(const void *left, const void *right)
{
	double x = *(const double *)left, y = *(const double *)right;

	return (x > y) - (x < y);
}

/*
 * Estimate the standard deviation of the A/A differences from the smaller half of them, so that
 * differences caused by disturbances do not count.
 */
static double time_scale(const struct kl_blocks *blocks)
{
	KL_AUTO(kl_freep) double *diffs = kl_calloc(blocks->n, sizeof(*diffs));
	double mid;

	for (size_t i = 0; i < blocks->n; i++)
		diffs[i] = blocks->subject[KL_BLOCKS_AGAIN].log_ns[i] -
			   blocks->subject[KL_BLOCKS_CANDIDATE].log_ns[i];
	mid = kl_stats_median(diffs, blocks->n);
	for (size_t i = 0; i < blocks->n; i++)
		diffs[i] = fabs(diffs[i] - mid);
	qsort(diffs, blocks->n, sizeof(*diffs), compare_doubles);
	return fmin(diffs[blocks->n / 2] / HALF_OF_NORMAL, diffs[blocks->n / 3] / THIRD_OF_NORMAL);
}

/*
 * Estimate how far the A/A ratio can be off when the time is up, as the lowest of three values:
 *
 * - how far it can be off now,
 * - the half-width of its interval, narrowed by the blocks still to come,
 * - twice its standard error after these blocks, without disturbances.
 */
static double reach_at_end(const struct kl_blocks *blocks, struct kl_interval aa, int64_t ms)
{
	double share = fmin(1, (double)(ms > 1 ? ms : 1) /
				       (double)(blocks->max_ms > 1 ? blocks->max_ms : 1));
	double quiet = 2 * time_scale(blocks) * sqrt(share / (double)blocks->n);

	return fmin(fmin(interval_reach(aa), half_width(aa) * sqrt(share)), quiet);
}

/* Return true if more blocks would not change the outcome of a comparison. */
static bool beyond_doubt(const struct kl_blocks *blocks, struct kl_interval interval,
			 struct kl_interval aa, int64_t ms)
{
	double far = fmax(far_limit(interval_reach(aa)), BEYOND_DOUBT * far_limit(0));
	double end = far_limit(reach_at_end(blocks, aa, ms));

	if (interval.lo > far || interval.hi < -far)
		return true;
	return interval.lo >= -end && interval.hi <= end;
}

static bool is_settled(const struct kl_blocks *blocks, int64_t ms)
{
	struct kl_interval aa = kl_blocks_ratio(blocks, KL_BLOCKS_AGAIN);
	double nearest = INFINITY;
	bool all_beyond = true;

	for (int who = KL_BLOCKS_PARENT; who <= KL_BLOCKS_BASELINE; who++) {
		struct kl_interval interval;

		if (!blocks->subject[who].there)
			continue;
		interval = kl_blocks_ratio(blocks, (enum kl_blocks_who)who);
		nearest = fmin(nearest, fabs(interval.mid));
		if (beyond_doubt(blocks, interval, aa, ms))
			continue;
		if (half_width(interval) > fmax(VS_HALF, VS_SHARE * fabs(interval.mid)))
			return false;
		all_beyond = false;
	}
	if (isinf(nearest))
		return half_width(aa) <= AA_ALONE;
	return all_beyond || half_width(aa) <= fmax(AA_HALF, AA_SHARE * nearest);
}

static bool is_enough(const struct kl_blocks *blocks, size_t *look, int64_t ms)
{
	bool slow = blocks->n >= LEAST_BLOCKS && ms >= blocks->max_ms / SLOW_SHARE;

	if (ms >= blocks->max_ms &&
	    (blocks->n >= blocks->min || (slow && ms >= 2 * blocks->max_ms)))
		return true;
	if (blocks->n < blocks->min ? !slow : blocks->n < *look)
		return false;
	/* computing an interval takes time quadratic in the number of blocks, so do it rarely */
	*look = blocks->n + 1 + blocks->n / 8;
	return is_settled(blocks, ms);
}

int kl_blocks_run(struct kl_blocks *blocks)
{
	int64_t begin = clock_ns_now(blocks), ms = 0;
	size_t look = blocks->min;
	int err;

	while (!is_enough(blocks, &look, ms)) {
		make_room(blocks);
		if ((err = measure_block(blocks)))
			return err;
		ms = (clock_ns_now(blocks) - begin) / 1000000;
	}
	return 0;
}

/* -- the report ------------------------------------------------------------ */

void kl_blocks_note(json_t *notes, const char *fmt, ...)
{
	char text[512];
	size_t i;
	json_t *note;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	json_array_foreach(notes, i, note)
		if (!strcmp(json_string_value(note), text))
			return;
	json_array_append_new(notes, json_string(text));
}

/* Return exp(log_value) * unit, limited so that it fits a 64-bit integer. */
static int64_t exp_scaled(double log_value, double unit)
{
	return llround(fmin(fmax(exp(log_value) * unit, 0), 9e15));
}

static void set_interval(json_t *obj, const char *mid, struct kl_interval interval)
{
	kl_json_set_int(obj, "lo_ppm", exp_scaled(interval.lo, 1e6));
	kl_json_set_int(obj, mid, exp_scaled(interval.mid, 1e6));
	kl_json_set_int(obj, "hi_ppm", exp_scaled(interval.hi, 1e6));
}

int64_t kl_blocks_ns(const struct kl_blocks *blocks, enum kl_blocks_who who)
{
	KL_AUTO(kl_freep) double *logs = kl_calloc(blocks->n, sizeof(*logs));

	for (size_t i = 0; i < blocks->n; i++)
		logs[i] = who == KL_BLOCKS_CANDIDATE ? own_time(blocks, i) :
						       blocks->subject[who].log_ns[i];
	return exp_scaled(kl_stats_centre(logs, blocks->n).mid, 1);
}

static void note_noise(const struct kl_blocks *blocks, const char *id, struct kl_interval aa,
		       json_t *notes)
{
	if (aa.lo > 0 || aa.hi < 0)
		kl_blocks_note(notes,
			       "%s: the interval of the kernel against itself does not include 1, "
			       "so the machine is noisy",
			       id);
	else if (half_width(aa) > 0.01)
		kl_blocks_note(notes,
			       "%s: the kernel against itself varies by more than 1 %%, so the "
			       "machine is noisy",
			       id);
	if (blocks->n < blocks->min)
		kl_blocks_note(notes, "%s: calls are slow, so only %zu blocks were measured", id,
			       blocks->n);
}

json_t *kl_blocks_report(const struct kl_blocks *blocks, const char *id, json_t *notes)
{
	json_t *point = json_object(), *aa = json_object(), *vs = json_array();
	struct kl_interval same = kl_blocks_ratio(blocks, KL_BLOCKS_AGAIN);

	kl_json_set_str(point, "id", id);
	kl_json_set_int(point, "ns", kl_blocks_ns(blocks, KL_BLOCKS_CANDIDATE));
	kl_json_set_int(point, "blocks", (int64_t)blocks->n);
	set_interval(aa, "mid_ppm", same);
	kl_json_set(point, "aa", aa);
	for (int who = KL_BLOCKS_PARENT; who <= KL_BLOCKS_BASELINE; who++) {
		json_t *versus;

		if (!blocks->subject[who].there)
			continue;
		versus = json_object();
		kl_json_set_str(versus, "what", blocks->subject[who].what);
		kl_json_set_int(versus, "ns", kl_blocks_ns(blocks, (enum kl_blocks_who)who));
		set_interval(versus, "ratio_ppm", kl_blocks_ratio(blocks, (enum kl_blocks_who)who));
		json_array_append_new(vs, versus);
	}
	kl_json_set(point, "vs", vs);
	note_noise(blocks, id, same, notes);
	return point;
}
