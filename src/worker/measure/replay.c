/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/measure/replay.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"

#define TELLING 8 /* an output of fewer elements could match by coincidence */

bool kl_replay_is_telling(const struct kl_job *job, const struct kl_member *member,
			  const void *const *got)
{
	for (size_t i = 0; i < job->nargs; i++) {
		size_t n, size = kl_dtype_bytes(job->arg[i].dtype);

		if (!kl_arg_is_output(&job->arg[i]))
			continue;
		n = kl_member_elements(member, i);
		/* an output that equals itself shifted by one element holds a single value */
		if (n >= TELLING && memcmp(got[i], (const char *)got[i] + size, (n - 1) * size))
			return true;
	}
	return false;
}

const struct kl_member *kl_replay_of(const struct kl_job *job, const struct kl_member *own,
				     const struct kl_member *const *met, size_t nmet,
				     const void *const *got)
{
	struct kl_mismatch mismatch;

	if (!kl_replay_is_telling(job, own, got))
		return NULL;
	for (size_t i = nmet; i-- > 0;)
		if (met[i] != own && met[i]->point == own->point &&
		    kl_compare(&mismatch, job, met[i], got) == 0)
			return met[i];
	return NULL;
}

/* Call the kernel with both inputs in one process; `got` has the second answer. */
static int call_both(const void **got, struct kl_subject *subject,
		     const struct kl_member *const *pair, const struct kl_job *job,
		     const struct kl_trial *like)
{
	struct kl_trial trial = *like;
	struct kl_call end;
	int ok = 1;

	trial.further = false;
	for (int i = 0; i < 2 && ok > 0; i++) {
		trial.input = pair[i]->input;
		ok = kl_fresh_call(&end, got, subject, job, &trial);
	}
	return ok;
}

static bool answers_first(struct kl_mismatch *mismatch, const struct kl_job *job,
			  const struct kl_member *const *pair, const void *const *got)
{
	struct kl_mismatch other;

	return kl_replay_is_telling(job, pair[1], got) &&
	       kl_compare(mismatch, job, pair[1], got) == KL_ENO &&
	       kl_compare(&other, job, pair[0], got) == 0;
}

bool kl_replay_probe(const struct kl_member *pair[2], struct kl_mismatch *mismatch,
		     const struct kl_fresh *fresh, const struct kl_pool *pool,
		     const struct kl_trial *like)
{
	const struct kl_job *job = fresh->job;

	for (size_t i = 0; i < job->npoint; i++) {
		KL_AUTO(kl_subject_freep) struct kl_subject *subject = NULL;
		const void *got[KL_MAX_ARGS] = { NULL };
		int ok;

		if (kl_pool_noise(pool, &job->point[i], pair, 2) < 2)
			continue;
		ok = kl_fresh_start(&subject, fresh, pair[0], like);
		if (ok == 0)
			ok = call_both(got, subject, pair, job, like);
		if (ok > 0 && answers_first(mismatch, job, pair, got))
			return true;
		kl_error_clear(); /* ignore an error of these calls: the kernel is wrong anyway */
	}
	return false;
}

void kl_replay_why(char *out, size_t cap, const struct kl_member *kept)
{
	snprintf(out, cap,
		 "answered with the right answer to an earlier input (band '%s', draw %d)",
		 kept->band, kept->draw);
}
