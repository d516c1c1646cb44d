/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/subject/trial.h"

#include "base/error.h"
#include "base/par.h"
#include "job/tensor.h"

#define PLAUSIBLE 3 /* one call in 3 gets poison that looks like an answer (subject.h) */

void kl_trial_draw(struct kl_trial *trial, struct kl_rng *rng)
{
	trial->place = (struct kl_place){ .right = kl_rng_below(rng, 2), .draw = kl_rng_u64(rng) };
	trial->poison = kl_rng_u64(rng) & ~(uint64_t)1;
	trial->poison |= kl_rng_below(rng, PLAUSIBLE) == 0;
}

int kl_trial_kernel(struct kl_call *end, struct kl_subject *subject, const struct kl_job *job,
		    const struct kl_trial *trial)
{
	kl_subject_place(subject, &trial->place);
	kl_subject_poison(subject, trial->poison);
	for (size_t i = 0; i < job->nargs; i++)
		if (kl_arg_is_input(&job->arg[i]) && kl_subject_bytes(subject, i))
			kl_par_copy(kl_subject_buffer(subject, i), trial->input[i],
				    kl_subject_bytes(subject, i));
	kl_subject_extend(subject, trial->further ? KL_TRIAL_FURTHER_TIMES : 1);
	if (trial->cold)
		kl_subject_flush(subject);
	return kl_subject_call(subject, end);
}

int kl_trial_oracle_start(struct kl_subject **out, const struct kl_job *job,
			  const struct kl_point *pt, bool real_is_double)
{
	struct kl_subject_spec spec = {
		.kind = KL_SUBJECT_ORACLE,
		.path = real_is_double ? job->truth_path : job->honest_path,
		.real_is_double = real_is_double,
		.align_right = true,
		.cpu = -1,
	};
	int err = kl_subject_start(out, job, pt, &spec);

	if (err == KL_EINVALID) /* the oracle cannot be loaded */
		err = KL_ECANNOT;
	return err < 0 ? kl_error_in(err, "oracle at '%s'", pt->id) : 0;
}

int kl_trial_oracle(struct kl_subject *subject, const struct kl_job *job, const struct kl_point *pt,
		    const void *const *input, bool real_is_double, int64_t *ns)
{
	struct kl_call end;
	int err;

	kl_subject_poison(subject, 0x6f7261636c66);
	for (size_t i = 0; i < job->nargs; i++) {
		const struct kl_job_arg *arg = &job->arg[i];
		size_t n = kl_arg_is_input(arg) ? (size_t)kl_point_elements(pt, i) : 0;

		if (!n)
			continue;
		if (kl_dtype_is_float(arg->dtype) && !kl_subject_widens(subject, i))
			kl_tensor_convert(kl_subject_buffer(subject, i),
					  real_is_double ? KL_F64 : KL_F32, input[i], arg->dtype,
					  n);
		else
			kl_par_copy(kl_subject_buffer(subject, i), input[i],
				    n * kl_dtype_bytes(arg->dtype));
	}
	err = kl_subject_call(subject, &end);
	if (err < 0)
		return kl_error_in(err, "oracle at '%s'", pt->id);
	if (end.end != KL_CALL_OK)
		return kl_error(KL_ECANNOT, "the oracle (kl_real as %s) at '%s' %s",
				real_is_double ? "double" : "float", pt->id, end.what);
	if (ns)
		*ns = end.used_ns >= 0 ? end.used_ns : end.ns;
	return 0;
}
