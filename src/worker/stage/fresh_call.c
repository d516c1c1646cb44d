/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/stage/fresh_call.h"

#include "base/error.h"
#include "worker/compare/compare.h"
#include "worker/measure/time_limit.h"

int kl_fresh_call(const struct kl_inquiry *inquiry, const struct kl_member *member,
		  const struct kl_trial *trial)
{
	KL_AUTO(kl_subject_freep) struct kl_subject *subject = NULL;
	const struct kl_job *job = inquiry->job;
	/* use no shared memory: the process that answered wrongly still uses inquiry->memory */
	const struct kl_subject_spec spec = {
		.kind = KL_SUBJECT_KERNEL,
		.path = job->candidate_path,
		.align_right = trial->place.right,
		.cpu = inquiry->cpu,
	};
	struct kl_trial own = *trial;
	const void *got[KL_MAX_ARGS] = { NULL };
	struct kl_mismatch mismatch;
	struct kl_call end;
	int err = kl_subject_start(&subject, job, member->point, &spec);

	if (err < 0)
		return kl_error_in(err, "candidate at '%s'", member->point->id);
	own.place.other = false;
	kl_subject_limit(subject, kl_time_limit(job, member->point, inquiry->ns));
	err = kl_trial_kernel(&end, subject, job, &own);
	if (err < 0 || end.end != KL_CALL_OK)
		return err < 0 ? err : 0;
	for (size_t i = 0; i < job->nargs; i++)
		if (kl_arg_is_output(&job->arg[i]))
			got[i] = kl_subject_buffer(subject, i);
	err = kl_compare_first(&mismatch, job, member, got);
	return err == KL_ENO ? 0 : err < 0 ? err : 1;
}
