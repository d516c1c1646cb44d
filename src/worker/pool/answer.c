/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/pool/answer.h"

#include "base/error.h"
#include "base/par.h"
#include "job/tensor.h"
#include "worker/compare/compare.h"

void kl_answer_release(struct kl_answer *answer)
{
	for (size_t i = 0; i < KL_MAX_ARGS; i++)
		free(answer->bytes[i]);
	*answer = (struct kl_answer){ 0 };
}

void kl_answer_room(struct kl_answer *answer, const struct kl_job *job,
		    const struct kl_member *member)
{
	for (size_t i = 0; i < job->nargs; i++)
		if (kl_arg_is_output(&job->arg[i]) && !answer->bytes[i])
			answer->bytes[i] = kl_calloc(kl_member_elements(member, i) + 1,
						     kl_dtype_bytes(job->arg[i].dtype));
}

void kl_answer_put(struct kl_answer *answer, const struct kl_job *job,
		   const struct kl_member *member, size_t i, const void *from, bool real_is_double)
{
	enum kl_dtype dtype = job->arg[i].dtype;
	size_t n = kl_member_elements(member, i);

	if (kl_dtype_is_float(dtype))
		kl_tensor_convert(answer->bytes[i], dtype, from, real_is_double ? KL_F64 : KL_F32,
				  n);
	else
		kl_par_copy(answer->bytes[i], from, n * kl_dtype_bytes(dtype));
}

void kl_answer_truth(struct kl_answer *answer, const struct kl_job *job,
		     const struct kl_member *member)
{
	kl_answer_room(answer, job, member);
	for (size_t i = 0; i < job->nargs; i++)
		if (kl_arg_is_output(&job->arg[i]))
			kl_answer_put(answer, job, member, i, member->truth[i], true);
}

static int compare_answer(struct kl_mismatch *at, const struct kl_job *job,
			  const struct kl_member *member, const struct kl_answer *answer,
			  bool first)
{
	const void *got[KL_MAX_ARGS] = { NULL };

	for (size_t i = 0; i < job->nargs; i++)
		got[i] = answer->bytes[i];
	return first ? kl_compare_first(at, job, member, got) : kl_compare(at, job, member, got);
}

int kl_answer_compare(struct kl_mismatch *at, const struct kl_job *job,
		      const struct kl_member *member, const struct kl_answer *answer)
{
	return compare_answer(at, job, member, answer, false);
}

int kl_answer_right(struct kl_mismatch *at, const struct kl_job *job,
		    const struct kl_member *member, const struct kl_answer *answer)
{
	int err = compare_answer(at, job, member, answer, true);

	return err == KL_ENO ? 0 : err < 0 ? err : 1;
}
