/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/compare/output.h"

#include "base/error.h"
#include "job/half.h"
#include "job/tensor.h"

int kl_output_init(struct kl_output *output, const struct kl_job *job, const struct kl_rule *rule,
		   const struct kl_member *member, int arg)
{
	const struct kl_point *pt = member->point;
	int err;

	*output = (struct kl_output){
		.rule = rule,
		.w = member,
		.arg = arg,
		.dtype = job->arg[arg].dtype,
		.extent = pt->arg[arg].extent,
		.naxes = pt->arg[arg].naxes,
		.n = (size_t)kl_point_elements(pt, (size_t)arg),
	};
	err = kl_groups_init(&output->groups, rule, output->extent, output->naxes);
	return err < 0 ? kl_error_in(err, "rule of '%s'", job->arg[arg].name) : 0;
}

const double *kl_output_truth(const struct kl_output *output, double *room, size_t off, size_t n)
{
	if (kl_dtype_is_float(output->dtype))
		return (const double *)output->w->truth[output->arg] + off;
	kl_tensor_load(room, output->dtype, output->w->truth[output->arg], off, n);
	return room;
}

const double *kl_output_honest(const struct kl_output *output, double *room, size_t off, size_t n)
{
	const float *honest = output->w->honest[output->arg];

	if (!honest)
		return kl_output_truth(output, room, off, n);
	for (size_t i = 0; i < n; i++)
		room[i] = honest[off + i];
	if (output->dtype == KL_F16 || output->dtype == KL_BF16)
		kl_half_round(output->dtype, room, n);
	return room;
}
