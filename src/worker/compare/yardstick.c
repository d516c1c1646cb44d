/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/compare/yardstick.h"

#include <math.h>

#include "base/error.h"
#include "base/mem.h"
#include "worker/compare/element.h"
#include "worker/compare/output.h"

/* The variance of few samples is often too small: allow for it (docs/formats.md). */
#define DOUBT 4
/* of float; shared errors count as at least so large, since exact ones are exact by luck */
#define ROUNDOFF 0x1p-24
#define ENOUGH 12 /* executions that are enough, however much their errors differ */

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
	out->max = kl_calloc(out->ngroup + 1, sizeof(*out->max));
	out->sum = kl_calloc(out->ngroup + 1, sizeof(*out->sum));
	out->sum2 = kl_calloc(out->ngroup + 1, sizeof(*out->sum2));
}

void kl_yardstick_release(struct kl_yardstick *yardstick)
{
	free(yardstick->max);
	free(yardstick->sum);
	free(yardstick->sum2);
	free(yardstick->seen);
	*yardstick = (struct kl_yardstick){ .room = 1 };
}

/* Return the unit in which the errors of a group are measured; 0: its truth is zero. */
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
	bool keep = groups && groups < KL_YARDSTICK_ACROSS;

	if (keep)
		yardstick->seen = kl_realloc(yardstick->seen, (yardstick->n + 1) * groups * 2,
					     sizeof(*yardstick->seen));
	for (size_t group = 0; group < groups; group++) {
		struct kl_yardstick_error error = group_error(yardstick, tolerance, group);
		double sq = error.rms * error.rms;

		yardstick->max[group] = fmax(yardstick->max[group], error.max);
		yardstick->sum[group] += sq;
		yardstick->sum2[group] += sq * sq;
		if (!keep)
			continue;
		yardstick->seen[(yardstick->n * groups + group) * 2] = error.rms;
		yardstick->seen[(yardstick->n * groups + group) * 2 + 1] = error.max;
	}
	yardstick->n++;
}

/*
 * Estimate the degrees of freedom by the method of Welch and Satterthwaite: a mean of nu squares of
 * normal numbers has the mean m and the variance 2 m^2 / nu. Groups are taken together.
 */
void kl_yardstick_finish(struct kl_yardstick *yardstick)
{
	double count = (double)yardstick->n, groups = (double)yardstick->ngroup;
	double variance = 0, square = 0, freedom;

	if (!yardstick->ngroup || yardstick->n < 2)
		return;
	yardstick->all[0] = yardstick->all[1] = 0;
	for (size_t i = 0; i < yardstick->ngroup; i++) {
		double mean = yardstick->sum[i] / count;

		variance += fmax(0, yardstick->sum2[i] - count * mean * mean) / (count - 1);
		square += mean * mean;
		yardstick->all[0] = fmax(yardstick->all[0], yardstick->max[i]);
		yardstick->all[1] += yardstick->sum[i] / groups;
	}
	variance *= 1 + DOUBT / ((count - 1) * groups);
	freedom = variance > 0 ? 2 * square / variance : INFINITY;
	yardstick->freedom = fmax(1, fmin(freedom, (double)yardstick->size));
	yardstick->room = kl_element_room(yardstick->freedom);
	yardstick->across = yardstick->relative && yardstick->ngroup >= KL_YARDSTICK_ACROSS &&
			    yardstick->freedom < KL_YARDSTICK_FREE;
}

bool kl_yardstick_is_settled(const struct kl_yardstick *yardstick)
{
	return !yardstick->ngroup || yardstick->across || yardstick->n >= ENOUGH ||
	       yardstick->freedom >= KL_YARDSTICK_FREE;
}

/* Return true if an execution fails in a group if it is judged by the other executions. */
static bool is_outside(const struct kl_yardstick *yardstick, const struct kl_rule *rule,
		       size_t execution, size_t group)
{
	const double *own = &yardstick->seen[(execution * yardstick->ngroup + group) * 2];
	double others = (double)(yardstick->n - 1), most = 0;
	double sq = fmax(0, yardstick->sum[group] - own[0] * own[0]) / others;

	for (size_t i = 0; i < yardstick->n; i++)
		if (i != execution)
			most = fmax(most, yardstick->seen[(i * yardstick->ngroup + group) * 2 + 1]);
	return own[0] > rule->rms * yardstick->room * sqrt(sq) ||
	       own[1] > rule->max * yardstick->room * most;
}

size_t kl_yardstick_outside(const struct kl_yardstick *yardstick, const struct kl_rule *rule)
{
	size_t outside = 0;

	for (size_t i = 0; yardstick->seen && yardstick->n > 1 && i < yardstick->n; i++) {
		bool fails = false;

		for (size_t group = 0; group < yardstick->ngroup; group++)
			fails = fails || is_outside(yardstick, rule, i, group);
		outside += fails;
	}
	return outside;
}

struct kl_yardstick_error kl_yardstick_error(const struct kl_yardstick *yardstick,
					     const struct kl_tolerance *tolerance, size_t group)
{
	bool shared = yardstick->freedom < KL_YARDSTICK_FREE;
	double unit, least, max, rms;

	if (!yardstick->ngroup || yardstick->n < 2)
		return (struct kl_yardstick_error){ 0, 0 };
	unit = group_unit(yardstick, tolerance, group);
	least = shared ? ROUNDOFF * tolerance->size[group] : 0;
	max = unit * (yardstick->across ? yardstick->all[0] : yardstick->max[group]);
	rms = yardstick->across ? yardstick->all[1] : yardstick->sum[group];
	rms = unit * sqrt(rms / (double)yardstick->n);
	return (struct kl_yardstick_error){ yardstick->room * fmax(max, least),
					    yardstick->room * fmax(rms, least) };
}
