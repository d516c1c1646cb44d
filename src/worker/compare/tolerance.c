/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/compare/tolerance.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "job/tensor.h"
#include "worker/compare/slice.h"

#define STEADY_PARTS ((size_t)4096) /* slices whose values are kept at once */

/*
 * Add up honest errors or, if `honest` is NULL, the truth. Leave out elements that are not finite
 * or whose truth is beyond `limit`, the largest finite number of the dtype.
 */
static void finite_add(struct kl_slice_sum *part, const double *truth, const double *honest,
		       size_t n, double limit)
{
	struct kl_slice_error *sums = &part->sums;
	double truth_sq = 0;

	for (size_t i = 0; i < n; i++) {
		double distance = fabs(honest ? truth[i] - honest[i] : truth[i]);
		bool finite = fabs(truth[i]) <= limit && distance < INFINITY;

		distance = finite ? distance : 0;
		sums->max = distance > sums->max ? distance : sums->max;
		sums->sq += distance * distance;
		truth_sq += finite ? truth[i] * truth[i] : 0;
	}
	part->truth_sq += truth_sq;
}

static void tolerance_parts(void *ctx, size_t from, size_t to)
{
	struct kl_slice_pass *pass = ctx;
	const struct kl_output *output = pass->v;
	double truth_room[KL_SLICE_BLOCK], honest_room[KL_SLICE_BLOCK];
	double limit = kl_tensor_max(output->dtype);

	for (size_t i = from; i < to; i++) {
		struct kl_slice_sum *part = &pass->part[i];
		struct kl_slice_walk walk;
		size_t off, n;

		kl_slice_start(&walk, output, &pass->slices, pass->first + i / pass->slices.each,
			       i % pass->slices.each);
		while (kl_slice_next(&walk, &off, &n, KL_SLICE_BLOCK)) {
			const double *truth = kl_output_truth(output, truth_room, off, n);

			finite_add(part, truth,
				   output->rule->kind == KL_RULE_NOISE ?
					   kl_output_honest(output, honest_room, off, n) :
					   NULL,
				   n, limit);
			part->n += n;
		}
	}
}

int kl_tolerance_make(struct kl_tolerance *out, const struct kl_job *job, size_t index,
		      const struct kl_member *member)
{
	const struct kl_rule *rule = &job->rule[index];
	struct kl_output output;
	struct kl_slice_pass pass = { .v = &output };
	int err;

	*out = (struct kl_tolerance){ 0 };
	if (rule->kind != KL_RULE_NOISE && rule->kind != KL_RULE_REL_L2)
		return 0;
	err = kl_output_init(&output, job, rule, member, rule->out);
	if (err < 0)
		return err;
	out->ngroup = output.groups.count;
	out->max = kl_calloc(output.groups.count + 1, sizeof(*out->max));
	out->rms = kl_calloc(output.groups.count + 1, sizeof(*out->rms));
	if (rule->kind == KL_RULE_NOISE)
		out->size = kl_calloc(output.groups.count + 1, sizeof(*out->size));
	pass.slices = kl_slices_of(&output);
	for (size_t n; pass.first < output.groups.count; pass.first += n) {
		n = kl_slice_pass_run(&pass, tolerance_parts);
		for (size_t i = 0; i < n; i++) {
			struct kl_slice_sum all = kl_slice_pass_sum(&pass, i);

			out->max[pass.first + i] = all.sums.max;
			out->rms[pass.first + i] = all.n ? sqrt(all.sums.sq / (double)all.n) : 0;
			if (out->size)
				out->size[pass.first + i] = all.n ? sqrt(all.truth_sq /
									 (double)all.n) :
								    0;
		}
	}
	free(pass.part);
	return 0;
}

void kl_tolerance_release(struct kl_tolerance *tolerance)
{
	free(tolerance->max);
	free(tolerance->rms);
	free(tolerance->size);
	*tolerance = (struct kl_tolerance){ 0 };
}

/* The sum of the squares of some numbers, and the largest square. */
struct spread {
	double sum, most;
};

static void spread_add(struct spread *spread, double value)
{
	double square = value * value;

	spread->sum += square;
	spread->most = square > spread->most ? square : spread->most;
}

static void spread_merge(struct spread *spread, const struct spread *other)
{
	spread->sum += other->sum;
	spread->most = fmax(spread->most, other->most);
}

/* Statistics of the finite elements of a slice or of a whole group. */
struct steady_part {
	struct spread truths, errors;
	double seen[KL_TOLERANCE_STEADY]; /* different values of the truth */
	size_t different;                 /* number of values in `seen` */
};

/* Remember `value` if it differs from all values seen before. */
static void see_value(struct steady_part *part, double value)
{
	if (part->different == KL_TOLERANCE_STEADY)
		return;
	for (size_t i = 0; i < part->different; i++)
		if (part->seen[i] == value)
			return;
	part->seen[part->different++] = value;
}

static void steady_add(struct steady_part *part, const double *truth, const double *honest,
		       size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (!isfinite(truth[i]) || !isfinite(honest[i]))
			continue;
		spread_add(&part->truths, truth[i]);
		spread_add(&part->errors, honest[i] - truth[i]);
		see_value(part, truth[i]);
	}
}

struct steady_pass {
	const struct kl_output *output;
	struct kl_slices slices;
	size_t first; /* group that part[0] belongs to */
	struct steady_part *part;
};

static void steady_parts(void *ctx, size_t from, size_t to)
{
	const struct steady_pass *pass = ctx;
	double truth_room[KL_SLICE_BLOCK], honest_room[KL_SLICE_BLOCK];

	for (size_t i = from; i < to; i++) {
		struct kl_slice_walk walk;
		size_t off, n;

		kl_slice_start(&walk, pass->output, &pass->slices,
			       pass->first + i / pass->slices.each, i % pass->slices.each);
		while (kl_slice_next(&walk, &off, &n, KL_SLICE_BLOCK))
			steady_add(&pass->part[i],
				   kl_output_truth(pass->output, truth_room, off, n),
				   kl_output_honest(pass->output, honest_room, off, n), n);
	}
}

/* Return true if a group that consists of the given slices is steady. */
static bool steady_group(const struct steady_part *part, size_t n)
{
	struct steady_part all = { .different = 0 };

	for (size_t i = 0; i < n; i++) {
		spread_merge(&all.truths, &part[i].truths);
		spread_merge(&all.errors, &part[i].errors);
		for (size_t k = 0; k < part[i].different; k++)
			see_value(&all, part[i].seen[k]);
	}
	if (all.truths.most == 0)
		return all.errors.most == 0;
	/*
	 * for n normally distributed numbers, sum / most is about n / 8 if n is 256, and n / 12 if
	 * n is 2000
	 */
	return all.different == KL_TOLERANCE_STEADY && all.truths.sum >= 8 * all.truths.most &&
	       (all.errors.most == 0 || all.errors.sum >= 4 * all.errors.most);
}

static bool steady_output(const struct kl_output *output)
{
	struct steady_pass pass = { .output = output, .slices = kl_slices_of(output) };
	size_t each = pass.slices.each, most = 1 + STEADY_PARTS / each;
	KL_AUTO(kl_freep) struct steady_part *part = kl_calloc(most * each, sizeof(*part));
	bool steady = true;

	pass.part = part;
	for (size_t n; steady && pass.first < output->groups.count; pass.first += n) {
		n = output->groups.count - pass.first < most ? output->groups.count - pass.first :
							       most;
		memset(part, 0, n * each * sizeof(*part));
		kl_par_for(n * each, pass.slices.grain, steady_parts, &pass);
		for (size_t i = 0; i < n && steady; i++)
			steady = steady_group(&part[i * each], each);
	}
	return steady;
}

bool kl_tolerance_is_steady(const struct kl_job *job, const struct kl_member *member)
{
	for (size_t i = 0; i < job->nrule; i++) {
		struct kl_output output;

		if (job->rule[i].kind != KL_RULE_NOISE)
			continue;
		if (kl_output_init(&output, job, &job->rule[i], member, job->rule[i].out) < 0) {
			kl_error_clear();
			return false;
		}
		if (!steady_output(&output))
			return false;
	}
	return true;
}

/*
 * Return the groups of rule `index` at a point; `size` is 0 if it is not a `noise` rule or does not
 * fit its tensor.
 */
static struct kl_groups noise_groups(const struct kl_job *job, size_t index,
				     const struct kl_point *pt)
{
	const struct kl_rule *rule = &job->rule[index];
	struct kl_member member = { .point = pt };
	struct kl_output output;

	if (rule->kind != KL_RULE_NOISE)
		return (struct kl_groups){ .size = 0 };
	if (kl_output_init(&output, job, rule, &member, rule->out) < 0) {
		kl_error_clear();
		return (struct kl_groups){ .size = 0 };
	}
	return output.groups;
}

size_t kl_tolerance_least_group(const struct kl_job *job, const struct kl_point *pt)
{
	size_t least = SIZE_MAX;

	for (size_t i = 0; i < job->nrule; i++) {
		size_t n = noise_groups(job, i, pt).size;

		least = n > 0 && n < least ? n : least;
	}
	return least;
}

size_t kl_tolerance_least_count(const struct kl_job *job, const struct kl_point *pt)
{
	size_t least = SIZE_MAX;

	for (size_t i = 0; i < job->nrule; i++) {
		struct kl_groups groups = noise_groups(job, i, pt);

		least = groups.size > 0 && groups.count < least ? groups.count : least;
	}
	return least;
}
