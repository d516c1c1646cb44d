/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/pool/member_bytes.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/par.h"
#include "job/tensor.h"
#include "worker/compare/tolerance.h"
#include "worker/pool/answer.h"
#include "worker/pool/fill.h"
#include "worker/pool/further.h"
#include "worker/pool/twin.h"
#include "worker/subject/trial.h"

void kl_oracles_release(struct kl_oracles *oracles)
{
	kl_subject_freep(&oracles->truth);
	kl_subject_freep(&oracles->honest);
	kl_subject_freep(&oracles->abs);
	*oracles = (struct kl_oracles){ 0 };
}

int kl_oracles_start(struct kl_oracles *oracles, const struct kl_job *job,
		     const struct kl_point *pt)
{
	bool elementwise = false;
	int err = kl_trial_oracle_start(&oracles->truth, job, pt, true);

	if (err == 0)
		err = kl_trial_oracle_start(&oracles->honest, job, pt, false);
	for (size_t i = 0; i < job->nargs; i++)
		elementwise = elementwise || kl_poolfile_elementwise(job, i);
	if (err < 0 || !elementwise)
		return err;
	oracles->abs_job = *job;
	for (size_t i = 0; i < job->nargs; i++)
		oracles->abs_job.arg[i].value = fabs(job->arg[i].value);
	return kl_trial_oracle_start(&oracles->abs, &oracles->abs_job, pt, true);
}

/* Format the place of an element for a message, such as "C[3,4] at 'case0', band 'noise'". */
static const char *place_name(char *out, size_t cap, const struct kl_job *job,
			      const struct kl_member *member, size_t arg, size_t i)
{
	const struct kl_point *point = member->point;
	int64_t index[KL_MAX_AXES];
	size_t n = 0;

	kl_tensor_index(index, point->arg[arg].extent, point->arg[arg].naxes, i);
	n += (size_t)snprintf(out, cap, "%s[", job->arg[arg].name);
	for (size_t axis = 0; axis < point->arg[arg].naxes && n < cap; axis++)
		n += (size_t)snprintf(out + n, cap - n, "%s%" PRId64, axis ? "," : "", index[axis]);
	if (n < cap)
		snprintf(out + n, cap - n, "] at '%s', band '%s'", point->id, member->band);
	return out;
}

/* Check that the truth is finite if the inputs are; bands of job->bands are not checked. */
static int check_truth(const struct kl_job *job, const struct kl_member *member, const char *base,
		       const struct kl_poolfile *layout)
{
	bool finite = strncmp(member->band, "band", 4) != 0;
	char at[200];

	for (size_t i = 0; i < job->nargs; i++)
		if (kl_arg_is_input(&job->arg[i]) && kl_dtype_is_float(job->arg[i].dtype))
			finite = finite && kl_tensor_finite(job->arg[i].dtype,
							    base + layout->at[i][KL_PART_INPUT],
							    kl_member_elements(member, i));
	for (size_t i = 0; i < job->nargs; i++) {
		const double *truth = (const double *)(base + layout->at[i][KL_PART_TRUTH]);
		size_t n = layout->bytes[i][KL_PART_TRUTH] / sizeof(*truth);

		if (!finite || !kl_arg_is_output(&job->arg[i]) ||
		    !kl_dtype_is_float(job->arg[i].dtype) || kl_tensor_finite(KL_F64, truth, n))
			continue;
		for (size_t k = 0; k < n; k++) {
			if (!isfinite(truth[k]))
				return kl_error(
					KL_ECANNOT,
					"the oracle gives %g for %s although every input is finite",
					truth[k], place_name(at, sizeof(at), job, member, i, k));
		}
	}
	return 0;
}

static void take_part(char *base, const struct kl_poolfile *layout, const struct kl_job *job,
		      struct kl_subject *subject, enum kl_poolpart part)
{
	for (size_t i = 0; i < job->nargs; i++)
		if (layout->bytes[i][part])
			kl_par_copy(base + layout->at[i][part], kl_subject_buffer(subject, i),
				    layout->bytes[i][part]);
}

/* Run the oracle on |inputs|: its answer bounds the error that cancellation can cause. */
static int run_absolute(char *base, const struct kl_poolfile *layout, const struct kl_job *job,
			const struct kl_member *member, struct kl_oracles *oracles)
{
	void *absolute[KL_MAX_ARGS] = { NULL };
	const void *input[KL_MAX_ARGS] = { NULL };
	int err;

	for (size_t i = 0; i < job->nargs; i++) {
		if (!kl_arg_is_input(&job->arg[i]))
			continue;
		input[i] = base + layout->at[i][KL_PART_INPUT];
		if (!kl_dtype_is_float(job->arg[i].dtype))
			continue;
		input[i] = absolute[i] = kl_malloc(layout->bytes[i][KL_PART_INPUT] + 1);
		kl_tensor_abs(absolute[i], job->arg[i].dtype, base + layout->at[i][KL_PART_INPUT],
			      kl_member_elements(member, i));
	}
	err = kl_trial_oracle(oracles->abs, job, member->point, input, true, NULL);
	if (err == 0)
		take_part(base, layout, job, oracles->abs, KL_PART_ABSUM);
	for (size_t i = 0; i < job->nargs; i++)
		free(absolute[i]);
	return err;
}

/* Run one oracle on the inputs in `base` and store its answer as `part`. */
static int ask_oracle(char *base, const struct kl_poolfile *layout, const struct kl_job *job,
		      const struct kl_member *member, struct kl_oracles *oracles,
		      enum kl_poolpart part)
{
	struct kl_subject *oracle = part == KL_PART_TRUTH ? oracles->truth : oracles->honest;
	const void *input[KL_MAX_ARGS] = { NULL };
	int64_t ns = 0, *least = &oracles->ns[part == KL_PART_TRUTH];
	int err;

	for (size_t i = 0; i < job->nargs; i++)
		if (kl_arg_is_input(&job->arg[i]))
			input[i] = base + layout->at[i][KL_PART_INPUT];
	err = kl_trial_oracle(oracle, job, member->point, input, part == KL_PART_TRUTH, &ns);
	if (err < 0)
		return err;
	take_part(base, layout, job, oracle, part);
	*least = !*least || ns < *least ? ns : *least;
	return 0;
}

/*
 * Compute the truth for the inputs in `base` and check it. The honest answer and the answer for
 * |inputs| are left to ask_honest(), since they are needed only for inputs that are kept.
 */
static int ask_truth(char *base, const struct kl_poolfile *layout, const struct kl_job *job,
		     const struct kl_member *member, struct kl_oracles *oracles)
{
	int err = ask_oracle(base, layout, job, member, oracles, KL_PART_TRUTH);

	return err < 0 ? err : check_truth(job, member, base, layout);
}

static int ask_honest(char *base, const struct kl_poolfile *layout, const struct kl_job *job,
		      const struct kl_member *member, struct kl_oracles *oracles)
{
	int err = ask_oracle(base, layout, job, member, oracles, KL_PART_HONEST);

	if (err < 0)
		return err;
	return oracles->abs && !member->exact ? run_absolute(base, layout, job, member, oracles) :
						0;
}

int kl_poolmake(char *base, const struct kl_job *job, const struct kl_member *member,
		const struct kl_key *key, struct kl_oracles *oracles)
{
	struct kl_poolfile layout;
	int err = 0;

	kl_poolfile_init(&layout, job, member);
	for (size_t i = 0; i < job->nargs && err == 0; i++)
		if (kl_arg_is_input(&job->arg[i]))
			err = kl_fill_band(base + layout.at[i][KL_PART_INPUT], job, member->point,
					   member->band, key, i);
	if (err == 0)
		err = ask_truth(base, &layout, job, member, oracles);
	return err < 0 ? err : ask_honest(base, &layout, job, member, oracles);
}

/* -- further bands -------------------------------------------------------- */

/* Return true if the truth of every float output lies within the range of the output's dtype. */
static bool within_range(const struct kl_job *job, const struct kl_member *member)
{
	for (size_t i = 0; i < job->nargs; i++) {
		const double *truth = member->truth[i];
		size_t n = kl_member_elements(member, i);

		if (!kl_arg_is_output(&job->arg[i]) || !kl_dtype_is_float(job->arg[i].dtype))
			continue;
		if (!kl_tensor_within(truth, n, kl_tensor_max(job->arg[i].dtype)))
			return false;
	}
	return true;
}

/*
 * Return 1 if the rules accept the oracle's answer in float and it uses at most half of the
 * tolerance; 0 if not; negative on error.
 */
static int honest_passes(const struct kl_job *job, const struct kl_member *member)
{
	KL_AUTO(kl_answer_release) struct kl_answer answer = { 0 };
	struct kl_mismatch mismatch;
	int ok;

	kl_answer_truth(&answer, job, member);
	for (size_t i = 0; i < job->nargs; i++)
		if (member->honest[i] && job->arg[i].dtype != KL_F64)
			kl_answer_put(&answer, job, member, i, member->honest[i], false);
	ok = kl_answer_right(&mismatch, job, member, &answer);
	return ok <= 0 ? ok : mismatch.margin <= 0.5;
}

/*
 * Make one attempt at a member of a further band. Return 1 if the member can be used, 0 if not, or
 * an error. Return KL_ECANNOT if the oracle failed.
 */
static int try_further(char *base, const struct kl_poolfile *layout, const struct kl_job *job,
		       const struct kl_member *member, const struct kl_key *key,
		       struct kl_oracles *oracles, int attempt)
{
	struct kl_member made = *member;
	int err = 0;

	kl_poolfile_point(&made, layout, job, base);
	for (size_t i = 0; i < job->nargs && err == 0; i++)
		if (kl_arg_is_input(&job->arg[i]))
			err = kl_further_fill(base + layout->at[i][KL_PART_INPUT], job, member, key,
					      i, attempt);
	if (err == 0)
		err = ask_oracle(base, layout, job, member, oracles, KL_PART_TRUTH);
	if (err < 0 || (member->odd == KL_ODD_NONE && !within_range(job, &made)))
		return err;
	err = ask_honest(base, layout, job, member, oracles);
	if (err == 0)
		err = honest_passes(job, &made);
	return err <= 0 ? err : kl_tolerance_is_steady(job, &made);
}

/* Start the oracles again after one of them died, but keep the times of their calls. */
static int restart_oracles(struct kl_oracles *oracles, const struct kl_job *job,
			   const struct kl_point *pt)
{
	const int64_t ns[2] = { oracles->ns[0], oracles->ns[1] };

	kl_oracles_release(oracles);
	memcpy(oracles->ns, ns, sizeof(ns));
	return kl_oracles_start(oracles, job, pt);
}

int kl_poolmake_further(char *base, const struct kl_job *job, const struct kl_member *member,
			const struct kl_key *key, struct kl_oracles *oracles, bool *made)
{
	struct kl_poolfile layout;
	int err = 0;

	*made = false;
	kl_poolfile_init(&layout, job, member);
	for (int i = 0; i < kl_further_tries(job, member) && err == 0; i++)
		err = try_further(base, &layout, job, member, key, oracles, i);
	*made = err > 0;
	if (err != KL_ECANNOT)
		return err < 0 ? err : 0;
	/*
	 * the oracle failed on these values and its process died, so no kernel can be judged with
	 * them
	 */
	kl_error_clear();
	return restart_oracles(oracles, job, member->point);
}

/* -- twins ------------------------------------------------------------------- */

int kl_poolmake_twin(char *base, const struct kl_job *job, const struct kl_member *member,
		     const struct kl_member *original, const struct kl_key *key,
		     struct kl_oracles *oracles, bool *made)
{
	void *input[KL_MAX_ARGS] = { NULL };
	struct kl_member twin = *member;
	struct kl_poolfile layout;
	int err = 0;

	*made = false;
	kl_poolfile_init(&layout, job, member);
	kl_poolfile_point(&twin, &layout, job, base);
	for (size_t i = 0; i < job->nargs; i++)
		if (kl_arg_is_input(&job->arg[i]))
			input[i] = base + layout.at[i][KL_PART_INPUT];
	for (int try = 0; try < KL_TWIN_TRIES && err == 0; try++) {
		size_t changed;

		err = kl_twin_draw(input, &changed, job, original, key, try);
		if (err == 0 && changed)
			err = ask_truth(base, &layout, job, member, oracles);
		if (err < 0 || !changed || (err = kl_twin_apart(job, original, &twin)) <= 0)
			continue;
		/*
		 * the rules must reject the answer to each of the two inputs as an answer to the
		 * other, since a kernel may be called with either input first and may keep that
		 * answer
		 */
		err = ask_honest(base, &layout, job, member, oracles);
		if (err == 0)
			err = kl_twin_apart(job, &twin, original);
		if (err > 0) {
			*made = true;
			return 0;
		}
	}
	return err;
}
