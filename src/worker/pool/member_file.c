/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/pool/member_file.h"

#define ALIGN 64 /* one cache line */

bool kl_poolfile_elementwise(const struct kl_job *job, size_t arg)
{
	for (size_t i = 0; i < job->nrule; i++)
		if (job->rule[i].kind == KL_RULE_ELEMENTWISE && job->rule[i].out == (int)arg)
			return true;
	return false;
}

void kl_poolfile_init(struct kl_poolfile *layout, const struct kl_job *job,
		      const struct kl_member *member)
{
	*layout = (struct kl_poolfile){ 0 };
	for (size_t i = 0; i < job->nargs; i++) {
		const struct kl_job_arg *arg = &job->arg[i];
		bool real = kl_dtype_is_float(arg->dtype);
		size_t n, size = kl_dtype_bytes(arg->dtype);

		if (!kl_arg_is_input(arg) && !kl_arg_is_output(arg))
			continue;
		n = kl_member_elements(member, i);
		if (kl_arg_is_input(arg))
			layout->bytes[i][KL_PART_INPUT] = n * size;
		if (kl_arg_is_output(arg)) {
			layout->bytes[i][KL_PART_TRUTH] = n * (real ? sizeof(double) : size);
			layout->bytes[i][KL_PART_HONEST] = real ? n * sizeof(float) : 0;
			if (real && !member->exact && kl_poolfile_elementwise(job, i))
				layout->bytes[i][KL_PART_ABSUM] = n * sizeof(double);
		}
		for (int part = 0; part < KL_PARTS; part++) {
			layout->at[i][part] = layout->total;
			layout->total += (layout->bytes[i][part] + ALIGN - 1) / ALIGN * ALIGN;
		}
	}
	layout->total += ALIGN; /* give even empty tensors an address */
}

void kl_poolfile_point(struct kl_member *member, const struct kl_poolfile *layout,
		       const struct kl_job *job, const char *base)
{
	for (size_t i = 0; i < job->nargs; i++) {
		const struct kl_job_arg *arg = &job->arg[i];
		bool out = kl_arg_is_output(arg), real = kl_dtype_is_float(arg->dtype);

		member->input[i] = kl_arg_is_input(arg) ? base + layout->at[i][KL_PART_INPUT] :
							  NULL;
		member->truth[i] = out ? base + layout->at[i][KL_PART_TRUTH] : NULL;
		member->honest[i] = out && real ? base + layout->at[i][KL_PART_HONEST] : NULL;
		member->absum[i] = layout->bytes[i][KL_PART_ABSUM] ?
					   base + layout->at[i][KL_PART_ABSUM] :
					   NULL;
	}
}

size_t kl_poolfile_places(size_t *at, const struct kl_job *job, const struct kl_member *member,
			  size_t n)
{
	size_t total = 0;

	for (size_t i = 0; i < n; i++) {
		struct kl_poolfile layout;

		kl_poolfile_init(&layout, job, &member[i]);
		at[i] = total;
		total += layout.total;
	}
	return total;
}
