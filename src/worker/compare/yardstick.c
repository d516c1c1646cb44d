/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/compare/yardstick.h"

#include <math.h>

#include "base/error.h"
#include "base/mem.h"
#include "worker/compare/element.h"
#include "worker/compare/output.h"

/* A variance estimated from few samples is often too small; this raises it (docs/formats.md). */
#define DOUBT 4
/*
 * rounding error of float; shared errors count as at least this large, since they are smaller only
 * by chance
 */
#define ROUNDOFF 0x1p-24
#define OUTLIER 4      /* an error counts as at most this multiple of the median */
#define MEDIAN_OF 1024 /* maximum number of values from which a median is computed */
#define ENOUGH 12      /* number of executions that suffices, however much their errors differ */

void kl_yardstick_init(struct kl_yardstick *out, const struct kl_job *job, size_t index,
		       const struct kl_point *pt)
{
	const struct kl_rule *rule = &job->rule[index];
	struct kl_member member = { .point = pt };
	struct kl_output output;

	*out = (struct kl_yardstick){ .room = 1 };
	if (rule->kind != KL_RULE_NOISE)
		return;
	if (kl_output_init(&output, job, rule, &member, rule->out) < 0) {
		kl_error_clear();
		return;
	}
	out->ngroup = output.groups.count;
	out->size = output.groups.size;
	out->relative = out->size >= KL_YARDSTICK_RELATIVE;
	out->sum = kl_calloc(out->ngroup + 1, sizeof(*out->sum));
	out->sum2 = kl_calloc(out->ngroup + 1, sizeof(*out->sum2));
	out->most = kl_calloc(out->ngroup + 1, sizeof(*out->most));
	out->error = kl_calloc(out->ngroup + 1, sizeof(*out->error));
}

void kl_yardstick_release(struct kl_yardstick *yardstick)
{
	free(yardstick->sum);
	free(yardstick->sum2);
	free(yardstick->most);
	free(yardstick->seen);
	free(yardstick->error);
	*yardstick = (struct kl_yardstick){ .room = 1 };
}

/* Return the unit in which the errors of a group are measured; 0 if its truth is zero. */
static double group_unit(const struct kl_yardstick *yardstick, const struct kl_tolerance *tolerance,
			 size_t group)
{
	return yardstick->relative ? tolerance->size[group] : 1;
}

static struct kl_yardstick_error group_error(const struct kl_yardstick *yardstick,
					     const struct kl_tolerance *tolerance, size_t group)
{
	double unit = group_unit(yardstick, tolerance, group);
	struct kl_yardstick_error error = { tolerance->max[group] / unit,
					    tolerance->rms[group] / unit };

	/* a truth of zeros, or one so small that the quotient overflows, has no relative error */
	if (!isfinite(error.max) || !isfinite(error.rms * error.rms))
		return (struct kl_yardstick_error){ 0, 0 };
	return error;
}

void kl_yardstick_add(struct kl_yardstick *yardstick, const struct kl_tolerance *tolerance)
{
	size_t groups = yardstick->ngroup;
	bool keep = groups && (yardstick->relative || groups < KL_YARDSTICK_ACROSS);

	if (keep)
		KL_GROW(yardstick->seen, (yardstick->n + 1) * groups, yardstick->alloc);
	for (size_t group = 0; group < groups; group++) {
		struct kl_yardstick_error error = group_error(yardstick, tolerance, group);
		double sq = error.rms * error.rms;

		yardstick->sum[group] += sq;
		yardstick->sum2[group] += sq * sq;
		yardstick->most[group] = fmax(yardstick->most[group], error.max);
		if (keep)
			yardstick->seen[yardstick->n * groups + group] = error;
	}
	yardstick->n++;
}

/* -- the distribution ----------------------------------------------------- */

/*
 * Estimate the degrees of freedom by the method of Welch and Satterthwaite: a mean of nu squares of
 * normal numbers has the mean m and the variance 2 m^2 / nu. The estimate is for all groups
 * together.
 */
static double estimate_freedom(const struct kl_yardstick *yardstick)
{
	double count = (double)yardstick->n, variance = 0, square = 0;

	for (size_t i = 0; i < yardstick->ngroup; i++) {
		double mean = yardstick->sum[i] / count;

		variance += fmax(0, yardstick->sum2[i] - count * mean * mean) / (count - 1);
		square += mean * mean;
	}
	variance *= 1 + DOUBT / ((count - 1) * (double)yardstick->ngroup);
	return fmax(1,
		    fmin(variance > 0 ? 2 * square / variance : INFINITY, (double)yardstick->size));
}

/* Errors of the executions, in one group or in all groups. */
struct selection {
	const struct kl_yardstick_error *seen;
	size_t n, step; /* seen[0], seen[step], ... */
};

static double value_of(const struct selection *selection, size_t i, bool rms)
{
	const struct kl_yardstick_error *error = &selection->seen[i * selection->step];

	return rms ? error->rms : error->max;
}

static int by_value(const void *left, const void *right)
{
	double first = *(const double *)left, second = *(const double *)right;

	return (first > second) - (first < second);
}

/*
 * Return the median; if there are many values, the median of MEDIAN_OF of them. Of two middle
 * values it is the upper one, not the mean of both as in kl_stats_median(). So if half of the
 * errors are exact by chance, the median is still one of the other errors.
 */
static double median_of(const struct selection *selection, bool rms)
{
	double value[MEDIAN_OF];
	size_t n = selection->n < MEDIAN_OF ? selection->n : MEDIAN_OF;

	for (size_t i = 0; i < n; i++)
		value[i] = value_of(selection, i * selection->n / n, rms);
	qsort(value, n, sizeof(*value), by_value);
	return value[n / 2];
}

/*
 * Return the root mean square of the errors, of which none counts as more than OUTLIER times the
 * median, because inputs for which the function is ill-conditioned must not set the tolerance for
 * others.
 */
static double capped_rms(const struct selection *selection, bool rms)
{
	double most = OUTLIER * median_of(selection, rms), sum = 0;

	for (size_t i = 0; i < selection->n; i++) {
		double value = value_of(selection, i, rms);

		value = most > 0 ? fmin(value, most) : value;
		sum += value * value;
	}
	return sqrt(sum / (double)selection->n);
}

static double largest(const struct selection *selection)
{
	double cap = OUTLIER * median_of(selection, false), most = 0;

	for (size_t i = 0; i < selection->n; i++)
		most = fmax(most, value_of(selection, i, false));
	return cap > 0 ? fmin(most, cap) : most;
}

/* Return the relative honest error of a group or, if `across` is set, of all groups. */
static struct kl_yardstick_error relative_error(const struct kl_yardstick *yardstick, size_t group)
{
	const struct selection selection = {
		.seen = yardstick->seen + group,
		.n = yardstick->across ? yardstick->n * yardstick->ngroup : yardstick->n,
		.step = yardstick->across ? 1 : yardstick->ngroup,
	};

	return (struct kl_yardstick_error){ largest(&selection), capped_rms(&selection, true) };
}

static struct kl_yardstick_error absolute_error(const struct kl_yardstick *yardstick, size_t group)
{
	return (struct kl_yardstick_error){ yardstick->most[group],
					    sqrt(yardstick->sum[group] / (double)yardstick->n) };
}

static void compute_errors(struct kl_yardstick *yardstick)
{
	size_t count = yardstick->across ? 1 : yardstick->ngroup;

	for (size_t i = 0; i < count; i++)
		yardstick->error[i] = yardstick->relative ? relative_error(yardstick, i) :
							    absolute_error(yardstick, i);
}

void kl_yardstick_finish(struct kl_yardstick *yardstick)
{
	if (!yardstick->ngroup || yardstick->n < 2)
		return;
	yardstick->freedom = estimate_freedom(yardstick);
	yardstick->room = kl_element_room(yardstick->freedom);
	yardstick->across = yardstick->relative && yardstick->ngroup >= KL_YARDSTICK_ACROSS &&
			    yardstick->freedom < KL_YARDSTICK_FREE;
	compute_errors(yardstick);
}

bool kl_yardstick_is_settled(const struct kl_yardstick *yardstick, double least)
{
	return !yardstick->ngroup || yardstick->across || yardstick->n >= ENOUGH ||
	       yardstick->freedom >= least;
}

/* Return true if an execution would fail in a group when judged by the other executions. */
static bool is_outside(const struct kl_yardstick *yardstick, const struct kl_rule *rule,
		       size_t execution, size_t group)
{
	const struct kl_yardstick_error *seen = yardstick->seen + group;
	struct kl_yardstick_error own = seen[execution * yardstick->ngroup];
	double sq = yardstick->sum[group] - own.rms * own.rms, most = 0;

	for (size_t i = 0; i < yardstick->n; i++)
		if (i != execution)
			most = fmax(most, seen[i * yardstick->ngroup].max);
	sq = fmax(0, sq) / (double)(yardstick->n - 1);
	return own.rms > rule->rms * yardstick->room * sqrt(sq) ||
	       own.max > rule->max * yardstick->room * most;
}

size_t kl_yardstick_outside(const struct kl_yardstick *yardstick, const struct kl_rule *rule)
{
	size_t groups = yardstick->seen && yardstick->n >= ENOUGH ? yardstick->ngroup : 0, most = 0;

	for (size_t group = 0; group < groups; group++) {
		size_t outside = 0;

		for (size_t i = 0; i < yardstick->n; i++)
			outside += is_outside(yardstick, rule, i, group);
		most = outside > most ? outside : most;
	}
	return most;
}

/* -- a member ------------------------------------------------------------- */

struct kl_yardstick_error kl_yardstick_error(const struct kl_yardstick *yardstick,
					     const struct kl_tolerance *tolerance, size_t group)
{
	bool shared = yardstick->freedom < KL_YARDSTICK_FREE;
	struct kl_yardstick_error error;
	double unit, least;

	if (!yardstick->ngroup || yardstick->n < 2)
		return (struct kl_yardstick_error){ 0, 0 };
	error = yardstick->error[yardstick->across ? 0 : group];
	unit = group_unit(yardstick, tolerance, group);
	least = shared ? ROUNDOFF * tolerance->size[group] : 0;
	return (struct kl_yardstick_error){ yardstick->room * fmax(unit * error.max, least),
					    yardstick->room * fmax(unit * error.rms, least) };
}
