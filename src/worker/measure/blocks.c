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
 * There are enough blocks when every comparison is settled, which is one of two things. More of
 * them would not change its word: it lies wholly beyond what may be called a difference (1 %, or
 * three times what the A/A ratio may be off) and beyond one and a half times the 1 %, or wholly
 * within what may be called one when the time is up, as far as A/A narrows until then: with the
 * root of the blocks. Or it is narrow: 0.25 %, or a tenth of what it shows, with an A/A ratio to an
 * eighth of the nearest comparison, but no less than a third of the 1 %. Where nothing is compared
 * there is no word to find, and the time alone is known well enough to 5 %.
 */
#define FAR 0.01
#define BEYOND_DOUBT 1.5
#define AA_HALF 0.0033
#define AA_SHARE 0.125
#define AA_ALONE 0.05
#define VS_HALF 0.0025
#define VS_SHARE 0.1
/* However slow the calls are; slow are those of which no more fit into an eighth of the time. */
#define LEAST_BLOCKS 4
#define SLOW_SHARE 8
/* of a normal of standard deviation 1, a half and a third lie within: */
#define HALF_OF_NORMAL 0.6745
#define THIRD_OF_NORMAL 0.4307

/* -- measuring ------------------------------------------------------------- */

static int64_t elapsed_ms(const struct kl_blocks *b)
{
	return b->clock_ns ? b->clock_ns(b->ctx) : kl_clock_ns();
}

static void draw_order(struct kl_rng *rng, int order[KL_BLOCKS_SUBJECTS])
{
	for (int i = 0; i < KL_BLOCKS_SUBJECTS; i++)
		order[i] = i;
	for (int i = KL_BLOCKS_SUBJECTS; i > 1; i--) {
		int k = (int)kl_rng_below(rng, (uint64_t)i), t = order[i - 1];

		order[i - 1] = order[k];
		order[k] = t;
	}
}

/*
 * All subjects in a drawn order and then back: P B C C' C' C B P and the like.
 * Drawn anew for each block, since who follows whom matters a little as well. Of
 * a slow subject the first measurement alone.
 */
static int measure_block(struct kl_blocks *b)
{
	int order[KL_BLOCKS_SUBJECTS], n[KL_BLOCKS_SUBJECTS] = { 0 }, err;
	double sum[KL_BLOCKS_SUBJECTS] = { 0 };

	draw_order(b->rng, order);
	if (b->begin)
		b->begin(b->ctx);
	for (int i = 0; i < 2 * KL_BLOCKS_SUBJECTS; i++) {
		int who = order[i < KL_BLOCKS_SUBJECTS ? i : 2 * KL_BLOCKS_SUBJECTS - 1 - i];
		struct kl_blocks_subject *s = &b->subject[who];

		if (!s->there || (n[who] && s->once))
			continue;
		if ((err = b->sample(b->ctx, (enum kl_blocks_who)who, &sum[who])))
			return err;
		n[who]++;
	}
	for (int i = 0; i < KL_BLOCKS_SUBJECTS; i++)
		if (b->subject[i].there)
			b->subject[i].log_ns[b->n] = sum[i] / n[i];
	b->n++;
	return 0;
}

static void make_room(struct kl_blocks *b)
{
	if (b->n < b->alloc)
		return;
	b->alloc = 2 * b->alloc + 16;
	for (int i = 0; i < KL_BLOCKS_SUBJECTS; i++)
		b->subject[i].log_ns = kl_realloc(b->subject[i].log_ns, b->alloc, sizeof(double));
}

void kl_blocks_release(struct kl_blocks *b)
{
	for (int i = 0; i < KL_BLOCKS_SUBJECTS; i++) {
		free(b->subject[i].log_ns);
		b->subject[i].log_ns = NULL;
	}
	b->n = b->alloc = 0;
}

/* -- figures --------------------------------------------------------------- */

static double own_time(const struct kl_blocks *b, size_t i)
{
	return (b->subject[KL_BLOCKS_CANDIDATE].log_ns[i] + b->subject[KL_BLOCKS_AGAIN].log_ns[i]) /
	       2;
}

struct kl_interval kl_blocks_ratio(const struct kl_blocks *b, enum kl_blocks_who who)
{
	KL_AUTO(kl_freep) double *d = kl_calloc(b->n, sizeof(*d));
	const double *other = b->subject[who].log_ns;

	for (size_t i = 0; i < b->n; i++)
		d[i] = who == KL_BLOCKS_AGAIN ?
			       other[i] - b->subject[KL_BLOCKS_CANDIDATE].log_ns[i] :
			       other[i] - own_time(b, i);
	return kl_stats_centre(d, b->n);
}

static double half_width(struct kl_interval c)
{
	return (c.hi - c.lo) / 2;
}

static double interval_reach(struct kl_interval aa)
{
	return fmax(aa.hi, -aa.lo);
}

/* What may be called a difference, as a logarithm, when A/A may be off by so much. */
static double far_of(double aa)
{
	return log1p(fmax(FAR, 3 * aa));
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/*
 * Scale of the A/A differences as the smaller ones show it: those that a disturbance made do not
 * count.
 */
static double time_scale(const struct kl_blocks *b)
{
	KL_AUTO(kl_freep) double *d = kl_calloc(b->n, sizeof(*d));
	double mid;

	for (size_t i = 0; i < b->n; i++)
		d[i] = b->subject[KL_BLOCKS_AGAIN].log_ns[i] -
		       b->subject[KL_BLOCKS_CANDIDATE].log_ns[i];
	mid = kl_stats_median(d, b->n);
	for (size_t i = 0; i < b->n; i++)
		d[i] = fabs(d[i] - mid);
	qsort(d, b->n, sizeof(*d), compare_doubles);
	return fmin(d[b->n / 2] / HALF_OF_NORMAL, d[b->n / 3] / THIRD_OF_NORMAL);
}

/*
 * By what A/A may be off when the time is up: its interval narrows, and 1 stays within it. Of a
 * width that comes from disturbances alone next to nothing is left by then.
 */
static double reach_at_end(const struct kl_blocks *b, struct kl_interval aa, int64_t ms)
{
	double share = fmin(1, (double)(ms > 1 ? ms : 1) / (double)(b->max_ms > 1 ? b->max_ms : 1));
	double quiet = 2 * time_scale(b) * sqrt(share / (double)b->n);

	return fmin(fmin(interval_reach(aa), half_width(aa) * sqrt(share)), quiet);
}

/* Will the word stay what it is? */
static bool beyond_doubt(const struct kl_blocks *b, struct kl_interval c, struct kl_interval aa,
			 int64_t ms)
{
	double far = fmax(far_of(interval_reach(aa)), BEYOND_DOUBT * far_of(0));
	double end = far_of(reach_at_end(b, aa, ms));

	if (c.lo > far || c.hi < -far)
		return true;
	return c.lo >= -end && c.hi <= end;
}

static bool is_settled(const struct kl_blocks *b, int64_t ms)
{
	struct kl_interval aa = kl_blocks_ratio(b, KL_BLOCKS_AGAIN);
	double nearest = INFINITY;
	bool all_beyond = true;

	for (int who = KL_BLOCKS_PARENT; who <= KL_BLOCKS_BASELINE; who++) {
		struct kl_interval c;

		if (!b->subject[who].there)
			continue;
		c = kl_blocks_ratio(b, (enum kl_blocks_who)who);
		nearest = fmin(nearest, fabs(c.mid));
		if (beyond_doubt(b, c, aa, ms))
			continue;
		if (half_width(c) > fmax(VS_HALF, VS_SHARE * fabs(c.mid)))
			return false;
		all_beyond = false;
	}
	if (isinf(nearest))
		return half_width(aa) <= AA_ALONE;
	return all_beyond || half_width(aa) <= fmax(AA_HALF, AA_SHARE * nearest);
}

static bool is_enough(const struct kl_blocks *b, size_t *look, int64_t ms)
{
	bool slow = b->n >= LEAST_BLOCKS && ms >= b->max_ms / SLOW_SHARE;

	if (ms >= b->max_ms && (b->n >= b->min || (slow && ms >= 2 * b->max_ms)))
		return true;
	if (b->n < b->min ? !slow : b->n < *look)
		return false;
	*look = b->n + 1 + b->n / 8; /* the interval costs the square of its samples */
	return is_settled(b, ms);
}

int kl_blocks_run(struct kl_blocks *b)
{
	int64_t begin = elapsed_ms(b), ms = 0;
	size_t look = b->min;
	int err;

	while (!is_enough(b, &look, ms)) {
		make_room(b);
		if ((err = measure_block(b)))
			return err;
		ms = (elapsed_ms(b) - begin) / 1000000;
	}
	return 0;
}

/* -- the report ------------------------------------------------------------ */

void kl_blocks_note(json_t *notes, const char *fmt, ...)
{
	char text[512];
	size_t i;
	json_t *v;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	json_array_foreach(notes, i, v)
		if (!strcmp(json_string_value(v), text))
			return;
	json_array_append_new(notes, json_string(text));
}

/* exp(x) in `unit`s, within what a reader's 64-bit integer takes. */
static int64_t scale_value(double x, double unit)
{
	return llround(fmin(fmax(exp(x) * unit, 0), 9e15));
}

static void set_interval(json_t *obj, const char *mid, struct kl_interval c)
{
	kl_json_set_int(obj, "lo_ppm", scale_value(c.lo, 1e6));
	kl_json_set_int(obj, mid, scale_value(c.mid, 1e6));
	kl_json_set_int(obj, "hi_ppm", scale_value(c.hi, 1e6));
}

int64_t kl_blocks_ns(const struct kl_blocks *b, enum kl_blocks_who who)
{
	KL_AUTO(kl_freep) double *d = kl_calloc(b->n, sizeof(*d));

	for (size_t i = 0; i < b->n; i++)
		d[i] = who == KL_BLOCKS_CANDIDATE ? own_time(b, i) : b->subject[who].log_ns[i];
	return scale_value(kl_stats_centre(d, b->n).mid, 1);
}

static void weaken_speed(const struct kl_blocks *b, const char *id, struct kl_interval aa,
			 json_t *notes)
{
	if (aa.lo > 0 || aa.hi < 0)
		kl_blocks_note(notes,
			       "%s: the kernel against itself is not 1 within its interval: "
			       "a noisy machine",
			       id);
	else if (half_width(aa) > 0.01)
		kl_blocks_note(
			notes,
			"%s: the kernel against itself varies by more than 1 %%: a noisy machine",
			id);
	if (b->n < b->min)
		kl_blocks_note(notes, "%s: slow calls, %zu blocks only", id, b->n);
}

json_t *kl_blocks_report(const struct kl_blocks *b, const char *id, json_t *notes)
{
	json_t *at = json_object(), *aa = json_object(), *vs = json_array();
	struct kl_interval same = kl_blocks_ratio(b, KL_BLOCKS_AGAIN);

	kl_json_set_str(at, "id", id);
	kl_json_set_int(at, "ns", kl_blocks_ns(b, KL_BLOCKS_CANDIDATE));
	kl_json_set_int(at, "blocks", (int64_t)b->n);
	set_interval(aa, "mid_ppm", same);
	kl_json_set(at, "aa", aa);
	for (int who = KL_BLOCKS_PARENT; who <= KL_BLOCKS_BASELINE; who++) {
		json_t *v;

		if (!b->subject[who].there)
			continue;
		v = json_object();
		kl_json_set_str(v, "what", b->subject[who].what);
		kl_json_set_int(v, "ns", kl_blocks_ns(b, (enum kl_blocks_who)who));
		set_interval(v, "ratio_ppm", kl_blocks_ratio(b, (enum kl_blocks_who)who));
		json_array_append_new(vs, v);
	}
	kl_json_set(at, "vs", vs);
	weaken_speed(b, id, same, notes);
	return at;
}
