/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/measure/redraw.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/par.h"
#include "base/rng.h"
#include "worker/measure/fresh_call.h"

/*
 * Judge the answer by every rule. Return 1 if only rules `noise` refuse it, and each error is at
 * most KL_REDRAW_MOST times the allowed one; 0 if not; negative on error. If 1, `mismatch` gets the
 * margin and the number of elements of all outputs.
 */
static int may_be_chance(struct kl_mismatch *mismatch, const struct kl_job *job,
			 const struct kl_member *member, const void *const *got)
{
	KL_AUTO(kl_freep)
	struct kl_mismatch *each = kl_calloc(job->nrule + 1, sizeof(*each));
	int err = kl_compare_all(each, job, member, got);
	int64_t elements = 0;
	double margin = 0;

	for (size_t i = 0; i < job->nrule && err == 0; i++) {
		if (each[i].out >= 0 &&
		    (job->rule[i].kind != KL_RULE_NOISE || each[i].margin > KL_REDRAW_MOST))
			return 0;
		margin = fmax(margin, each[i].margin);
		elements += each[i].elements;
	}
	if (err < 0)
		return err;
	mismatch->margin = margin;
	mismatch->elements = elements;
	return 1;
}

/* Return true if the answers `got` and `then` have the same bits. */
static bool same_answer(const struct kl_job *job, const struct kl_member *member,
			const void *const *got, const void *const *then)
{
	for (size_t i = 0; i < job->nargs; i++)
		if (kl_arg_is_output(&job->arg[i]) &&
		    !kl_par_same(got[i], then[i],
				 kl_member_elements(member, i) * kl_dtype_bytes(job->arg[i].dtype)))
			return false;
	return true;
}

/*
 * Call the kernel with each fresh draw. Return 1 if it answers all correctly, 0 if not, negative on
 * error.
 */
static int answer_all(struct kl_subject *subject, const struct kl_job *job,
		      const struct kl_pool *fresh, const struct kl_trial *like)
{
	struct kl_rng rng;
	int right = 1;

	kl_rng_seed(&rng, like->poison);
	for (size_t i = 0; i < kl_pool_size(fresh) && right > 0; i++) {
		const struct kl_member *member = kl_pool_get(fresh, i);
		struct kl_trial trial = { .input = member->input, .further = member->further };

		kl_trial_draw(&trial, &rng);
		trial.place.right = like->place.right;
		right = kl_fresh_answer(subject, job, member, &trial);
	}
	return right;
}

/* A redraw and its result. */
struct attempt {
	const struct kl_redraw *redraw;
	const struct kl_member *member;
	const struct kl_trial *trial;
	char what[300]; /* the result of the redraw, for its note */
};

/*
 * Call the kernel with KL_REDRAWS fresh draws. Return 1 if it answers all correctly, 0 if not,
 * negative on error. Return 0 also if only some draws could be made, as for some further bands:
 * with fewer draws, a wrong kernel would have a better chance.
 */
static int try_draws(struct attempt *attempt, struct kl_subject *subject)
{
	KL_AUTO(kl_pool_freep) struct kl_pool *fresh = NULL;
	const struct kl_redraw *redraw = attempt->redraw;
	int right = kl_pool_make_again(&fresh, redraw->job, redraw->pool, attempt->member,
				       KL_REDRAWS, redraw->stage->tried);

	if (right < 0)
		return right;
	if (kl_pool_size(fresh) < KL_REDRAWS) {
		snprintf(attempt->what, sizeof(attempt->what),
			 "only %zu of %d fresh draws could be made", kl_pool_size(fresh),
			 KL_REDRAWS);
		return 0;
	}
	right = answer_all(subject, redraw->job, fresh, attempt->trial);
	snprintf(attempt->what, sizeof(attempt->what), "of %d fresh draws the kernel answered %s",
		 KL_REDRAWS,
		 right ? "all correctly, so the error was chance" : "not all correctly");
	return right;
}

/*
 * Make the same call in a new process. Return 1 if the call ends well and, if the job promises
 * determinism, gives the same bits as in `got`; 0 if not; negative on error.
 */
static int call_again(struct attempt *attempt, struct kl_subject *subject, const void *const *got)
{
	const struct kl_job *job = attempt->redraw->job;
	const void *again[KL_MAX_ARGS] = { NULL };
	struct kl_call end;
	int ok = kl_fresh_call(&end, again, subject, job, attempt->trial);

	if (ok == 0)
		snprintf(attempt->what, sizeof(attempt->what), "in a new process the kernel %s",
			 end.what);
	if (ok <= 0 || !job->deterministic || same_answer(job, attempt->member, again, got))
		return ok;
	snprintf(attempt->what, sizeof(attempt->what),
		 "in a new process the same input gave an output with other bits");
	return 0;
}

int kl_redraw(const struct kl_redraw *redraw, const struct kl_member *member,
	      struct kl_mismatch *mismatch, const struct kl_trial *trial, const void *const *got)
{
	KL_AUTO(kl_subject_freep) struct kl_subject *subject = NULL;
	const struct kl_fresh fresh = { .job = redraw->job, .cpu = redraw->cpu, .ns = redraw->ns };
	struct attempt attempt = { .redraw = redraw, .member = member, .trial = trial };
	struct kl_redraws *stage = redraw->stage;
	int right;

	if (!stage || stage->tried >= KL_REDRAW_TIMES || mismatch->margin > KL_REDRAW_MOST)
		return 0;
	right = may_be_chance(mismatch, redraw->job, member, got);
	if (right <= 0)
		return right;
	stage->tried++;
	right = kl_fresh_start(&subject, &fresh, member, trial);
	if (right == 0)
		right = call_again(&attempt, subject, got);
	if (right > 0)
		right = try_draws(&attempt, subject);
	if (right >= 0)
		snprintf(stage->note[stage->tried - 1], sizeof(stage->note[0]),
			 "%s, band '%s': an error was %.2f times the allowed error; %s",
			 member->point->id, member->band, mismatch->margin, attempt.what);
	return right;
}

void kl_redraws_note(json_t *notes, const struct kl_redraws *redraws)
{
	for (int i = 0; i < redraws->tried; i++)
		if (*redraws->note[i])
			json_array_append_new(notes, json_string(redraws->note[i]));
}
