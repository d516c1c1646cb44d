/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/compare/tolerance.h"

#include <math.h>

#include "base/error.h"
#include "job/tensor.h"
#include "worker/compare/slice.h"

/*
 * Add up honest errors or, if `honest` is NULL, the truth. Values beyond the dtype's range are left
 * out.
 */
static void finite_add(struct kl_slice_error *sums, const double *truth, const double *honest,
		       size_t n, double limit)
{
	for (size_t i = 0; i < n; i++) {
		double distance = fabs(honest ? truth[i] - honest[i] : truth[i]);

		distance = fabs(truth[i]) <= limit && distance < INFINITY ? distance : 0;
		sums->max = distance > sums->max ? distance : sums->max;
		sums->sq += distance * distance;
	}
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

			finite_add(&part->sums, truth,
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
	pass.slices = kl_slices_of(&output);
	for (size_t n; pass.first < output.groups.count; pass.first += n) {
		n = kl_slice_pass_run(&pass, tolerance_parts);
		for (size_t i = 0; i < n; i++) {
			struct kl_slice_sum all = kl_slice_pass_sum(&pass, i);

			out->max[pass.first + i] = all.sums.max;
			out->rms[pass.first + i] = all.n ? sqrt(all.sums.sq / (double)all.n) : 0;
		}
	}
	free(pass.part);
	return 0;
}

void kl_tolerance_release(struct kl_tolerance *tolerance)
{
	free(tolerance->max);
	free(tolerance->rms);
	*tolerance = (struct kl_tolerance){ 0 };
}

void kl_tolerance_merge(struct kl_tolerance *tolerance, const struct kl_tolerance *other, size_t n)
{
	for (size_t group = 0; group < tolerance->ngroup && group < other->ngroup; group++) {
		double sq = tolerance->rms[group] * tolerance->rms[group] * (double)n +
			    other->rms[group] * other->rms[group];

		tolerance->max[group] = fmax(tolerance->max[group], other->max[group]);
		tolerance->rms[group] = sqrt(sq / (double)(n + 1));
	}
}

/* How the squares of some numbers are distributed. */
struct spread {
	double sum, most;
};

static void spread_add(struct spread *spread, double value)
{
	double square = value * value;

	spread->sum += square;
	spread->most = square > spread->most ? square : spread->most;
}

/* Count `value` if it is none of the `n` in `seen`. */
static size_t count_new(double seen[KL_TOLERANCE_STEADY], size_t n, double value)
{
	for (size_t i = 0; i < n; i++)
		if (seen[i] == value)
			return n;
	seen[n] = value;
	return n + 1;
}

static bool steady_group(const struct kl_output *output, size_t group)
{
	double seen[KL_TOLERANCE_STEADY];
	struct spread truths = { 0 }, errors = { 0 };
	struct kl_group_walk walk;
	size_t different = 0, i, n;

	kl_group_start(&walk, &output->groups, group);
	while (kl_group_next(&walk, &i, &n, 1)) {
		double truth_room, honest_room, truth, honest;

		truth = *kl_output_truth(output, &truth_room, i, 1);
		honest = *kl_output_honest(output, &honest_room, i, 1);
		if (!isfinite(truth) || !isfinite(honest))
			continue;
		spread_add(&truths, truth);
		spread_add(&errors, honest - truth);
		if (different < KL_TOLERANCE_STEADY)
			different = count_new(seen, different, truth);
	}
	if (truths.most == 0)
		return errors.most == 0;
	/* of normal numbers, these are about n / 12 and n / 8 */
	return different == KL_TOLERANCE_STEADY && truths.sum >= 8 * truths.most &&
	       (errors.most == 0 || errors.sum >= 4 * errors.most);
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
		for (size_t group = 0; group < output.groups.count; group++)
			if (!steady_group(&output, group))
				return false;
	}
	return true;
}

size_t kl_tolerance_group(const struct kl_job *job, size_t index, const struct kl_point *pt)
{
	const struct kl_rule *rule = &job->rule[index];
	struct kl_member member = { .point = pt };
	struct kl_output output;

	if (rule->kind != KL_RULE_NOISE)
		return 0;
	if (kl_output_init(&output, job, rule, &member, rule->out) < 0) {
		kl_error_clear();
		return 0;
	}
	return output.groups.size;
}

size_t kl_tolerance_least_group(const struct kl_job *job, const struct kl_point *pt)
{
	size_t least = SIZE_MAX;

	for (size_t i = 0; i < job->nrule; i++) {
		size_t n = kl_tolerance_group(job, i, pt);

		least = n > 0 && n < least ? n : least;
	}
	return least;
}
