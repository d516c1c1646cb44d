/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/compare/output.h"

#include "base/error.h"
#include "job/tensor.h"

int kl_output_init(struct kl_output *v, const struct kl_job *job, const struct kl_rule *rule,
		   const struct kl_member *w, int arg)
{
	const struct kl_point *pt = w->point;
	int err;

	*v = (struct kl_output){
		.rule = rule,
		.w = w,
		.arg = arg,
		.dtype = job->arg[arg].dtype,
		.extent = pt->arg[arg].extent,
		.naxes = pt->arg[arg].naxes,
		.n = (size_t)kl_point_elements(pt, (size_t)arg),
	};
	err = kl_groups_init(&v->groups, rule, v->extent, v->naxes);
	return err < 0 ? kl_error_in(err, "rule of '%s'", job->arg[arg].name) : 0;
}

const double *kl_output_truth(const struct kl_output *v, double *room, size_t off, size_t n)
{
	if (kl_dtype_is_float(v->dtype))
		return (const double *)v->w->truth[v->arg] + off;
	kl_tensor_load(room, v->dtype, v->w->truth[v->arg], off, n);
	return room;
}

const double *kl_output_honest(const struct kl_output *v, double *room, size_t off, size_t n)
{
	const float *h = v->w->honest[v->arg];

	if (!h)
		return kl_output_truth(v, room, off, n);
	for (size_t i = 0; i < n; i++)
		room[i] = h[off + i];
	if (v->dtype == KL_F16 || v->dtype == KL_BF16)
		for (size_t i = 0; i < n; i++)
			room[i] = kl_tensor_round(v->dtype, room[i]);
	return room;
}
