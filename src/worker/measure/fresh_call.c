/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/measure/fresh_call.h"

#include "base/error.h"
#include "worker/compare/compare.h"
#include "worker/measure/time_limit.h"

int kl_fresh_start(struct kl_subject **out, const struct kl_fresh *fresh,
		   const struct kl_member *member, const struct kl_trial *trial)
{
	/* leave .memory NULL: the process that answered wrongly still uses that memory */
	const struct kl_subject_spec spec = {
		.kind = KL_SUBJECT_KERNEL,
		.path = fresh->job->candidate_path,
		.align_right = trial->place.right,
		.cpu = fresh->cpu,
	};
	int err = kl_subject_start(out, fresh->job, member->point, &spec);

	if (err < 0)
		return kl_error_in(err, "candidate at '%s'", member->point->id);
	if (fresh->ns)
		kl_subject_limit(*out, kl_time_limit(fresh->job, member->point, fresh->ns));
	return 0;
}

int kl_fresh_call(struct kl_call *end, const void **got, struct kl_subject *subject,
		  const struct kl_job *job, const struct kl_trial *trial)
{
	struct kl_trial own = *trial;
	int err;

	own.place.other = false;
	err = kl_trial_kernel(end, subject, job, &own);
	if (err < 0 || end->end != KL_CALL_OK)
		return err < 0 ? err : 0;
	for (size_t i = 0; i < job->nargs; i++)
		if (kl_arg_is_output(&job->arg[i]))
			got[i] = kl_subject_buffer(subject, i);
	return 1;
}

int kl_fresh_answer(struct kl_subject *subject, const struct kl_job *job,
		    const struct kl_member *member, const struct kl_trial *trial)
{
	const void *got[KL_MAX_ARGS] = { NULL };
	struct kl_mismatch mismatch;
	struct kl_call end;
	int err = kl_fresh_call(&end, got, subject, job, trial);

	if (err <= 0)
		return err;
	err = kl_compare_first(&mismatch, job, member, got);
	return err == KL_ENO ? 0 : err < 0 ? err : 1;
}
