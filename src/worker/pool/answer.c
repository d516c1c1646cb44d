/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/pool/answer.h"

#include "base/error.h"
#include "base/par.h"
#include "job/tensor.h"
#include "worker/compare/compare.h"

void kl_answer_release(struct kl_answer *x)
{
	for (size_t i = 0; i < KL_JOB_MAX_ARGS; i++)
		free(x->bytes[i]);
	*x = (struct kl_answer){ 0 };
}

static size_t element_count(const struct kl_member *m, size_t arg)
{
	return (size_t)kl_point_elements(m->point, arg);
}

void kl_answer_room(struct kl_answer *x, const struct kl_job *job, const struct kl_member *m)
{
	for (size_t i = 0; i < job->nargs; i++)
		if (kl_arg_is_output(&job->arg[i]) && !x->bytes[i])
			x->bytes[i] = kl_calloc(element_count(m, i) + 1,
						kl_dtype_bytes(job->arg[i].dtype));
}

void kl_answer_put(struct kl_answer *x, const struct kl_job *job, const struct kl_member *m,
		   size_t i, const void *from, bool real_is_double)
{
	enum kl_dtype t = job->arg[i].dtype;
	size_t n = element_count(m, i);

	if (kl_dtype_is_float(t))
		kl_tensor_convert(x->bytes[i], t, from, real_is_double ? KL_F64 : KL_F32, n);
	else
		kl_par_copy(x->bytes[i], from, n * kl_dtype_bytes(t));
}

void kl_answer_truth(struct kl_answer *x, const struct kl_job *job, const struct kl_member *m)
{
	kl_answer_room(x, job, m);
	for (size_t i = 0; i < job->nargs; i++)
		if (kl_arg_is_output(&job->arg[i]))
			kl_answer_put(x, job, m, i, m->truth[i], true);
}

static int compare_answer(struct kl_mismatch *at, const struct kl_job *job,
			  const struct kl_member *m, const struct kl_answer *x, bool first)
{
	const void *got[KL_JOB_MAX_ARGS] = { NULL };

	for (size_t i = 0; i < job->nargs; i++)
		got[i] = x->bytes[i];
	return first ? kl_compare_first(at, job, m, got) : kl_compare(at, job, m, got);
}

int kl_answer_compare(struct kl_mismatch *at, const struct kl_job *job, const struct kl_member *m,
		      const struct kl_answer *x)
{
	return compare_answer(at, job, m, x, false);
}

int kl_answer_right(struct kl_mismatch *at, const struct kl_job *job, const struct kl_member *m,
		    const struct kl_answer *x)
{
	int err = compare_answer(at, job, m, x, true);

	return err == KL_ENO ? 0 : err < 0 ? err : 1;
}
