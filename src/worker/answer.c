/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/answer.h"

#include <string.h>

#include "worker/tensor.h"

void kl_answer_release(struct kl_answer *x)
{
	for (size_t i = 0; i < KL_JOB_MAX_ARGS; i++)
		free(x->bytes[i]);
	*x = (struct kl_answer){ 0 };
}

static size_t elements(const struct kl_member *m, size_t arg)
{
	return (size_t)kl_point_elements(m->point, arg);
}

void kl_answer_room(struct kl_answer *x, const struct kl_job *job, const struct kl_member *m)
{
	for (size_t i = 0; i < job->nargs; i++)
		if (kl_arg_is_output(&job->arg[i]) && !x->bytes[i])
			x->bytes[i] = kl_calloc(elements(m, i) + 1, kl_dtype_bytes(job->arg[i].dtype));
}

void kl_answer_put(struct kl_answer *x, const struct kl_job *job, const struct kl_member *m,
		   size_t i, const void *from, bool real_is_double)
{
	enum kl_dtype t = job->arg[i].dtype;
	size_t n = elements(m, i);
	double room[256];

	if (!kl_dtype_is_float(t)) {
		memcpy(x->bytes[i], from, n * kl_dtype_bytes(t));
		return;
	}
	for (size_t off = 0; off < n; off += 256) {
		size_t part = n - off < 256 ? n - off : 256;

		kl_tensor_load(room, real_is_double ? KL_F64 : KL_F32, from, off, part);
		kl_tensor_store(x->bytes[i], t, off, room, part);
	}
}

void kl_answer_truth(struct kl_answer *x, const struct kl_job *job, const struct kl_member *m)
{
	kl_answer_room(x, job, m);
	for (size_t i = 0; i < job->nargs; i++)
		if (kl_arg_is_output(&job->arg[i]))
			kl_answer_put(x, job, m, i, m->truth[i], true);
}

int kl_answer_compare(struct kl_mismatch *at, const struct kl_job *job, const struct kl_member *m,
		      const struct kl_answer *x)
{
	const void *got[KL_JOB_MAX_ARGS] = { NULL };

	for (size_t i = 0; i < job->nargs; i++)
		got[i] = x->bytes[i];
	return kl_compare(at, job, m, got);
}
