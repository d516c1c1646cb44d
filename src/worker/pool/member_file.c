/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/pool/member_file.h"

#include "job/tensor.h"

#define ALIGN 64 /* one cache line */

bool kl_poolfile_elementwise(const struct kl_job *job, size_t arg)
{
	for (size_t i = 0; i < job->nrule; i++)
		if (job->rule[i].kind == KL_RULE_ELEMENTWISE && job->rule[i].out == (int)arg)
			return true;
	return false;
}

void kl_poolfile_init(struct kl_poolfile *l, const struct kl_job *job, const struct kl_member *m)
{
	*l = (struct kl_poolfile){ 0 };
	for (size_t i = 0; i < job->nargs; i++) {
		const struct kl_job_arg *a = &job->arg[i];
		bool real = kl_dtype_is_float(a->dtype);
		size_t n, size = kl_dtype_bytes(a->dtype);

		if (!kl_arg_is_input(a) && !kl_arg_is_output(a))
			continue;
		n = (size_t)kl_point_elements(m->point, i);
		if (kl_arg_is_input(a))
			l->bytes[i][KL_PART_INPUT] = n * size;
		if (kl_arg_is_output(a)) {
			l->bytes[i][KL_PART_TRUTH] = n * (real ? sizeof(double) : size);
			l->bytes[i][KL_PART_HONEST] = real ? n * sizeof(float) : 0;
			if (real && !m->exact && kl_poolfile_elementwise(job, i))
				l->bytes[i][KL_PART_ABSUM] = n * sizeof(double);
		}
		for (int p = 0; p < KL_PARTS; p++) {
			l->at[i][p] = l->total;
			l->total += (l->bytes[i][p] + ALIGN - 1) / ALIGN * ALIGN;
		}
	}
	l->total += ALIGN; /* so that even empty tensors have an address */
}

void kl_poolfile_point(struct kl_member *m, const struct kl_poolfile *l, const struct kl_job *job,
		       const char *base)
{
	for (size_t i = 0; i < job->nargs; i++) {
		const struct kl_job_arg *a = &job->arg[i];
		bool out = kl_arg_is_output(a), real = kl_dtype_is_float(a->dtype);

		m->input[i] = kl_arg_is_input(a) ? base + l->at[i][KL_PART_INPUT] : NULL;
		m->truth[i] = out ? base + l->at[i][KL_PART_TRUTH] : NULL;
		m->honest[i] = out && real ? base + l->at[i][KL_PART_HONEST] : NULL;
		m->absum[i] = l->bytes[i][KL_PART_ABSUM] ? base + l->at[i][KL_PART_ABSUM] : NULL;
	}
}
