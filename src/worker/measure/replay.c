/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/measure/replay.h"

#include <stdio.h>
#include <string.h>

#define TELLING 8 /* an output of fewer elements could match by coincidence */

static bool is_telling(const struct kl_job *job, const struct kl_member *member,
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

	if (!is_telling(job, own, got))
		return NULL;
	for (size_t i = nmet; i-- > 0;)
		if (met[i] != own && met[i]->point == own->point &&
		    kl_compare(&mismatch, job, met[i], got) == 0)
			return met[i];
	return NULL;
}

void kl_replay_why(char *out, size_t cap, const struct kl_member *kept)
{
	snprintf(out, cap,
		 "answered with the right answer to an earlier input (band '%s', draw %d)",
		 kept->band, kept->draw);
}
