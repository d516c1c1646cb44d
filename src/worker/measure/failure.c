/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/measure/failure.h"

#include <inttypes.h>

const char *kl_failure_class(enum kl_call_end end)
{
	/* clang-format off */
	static const char *const classes[] = {
		[KL_CALL_FAULT] = "fault",
		[KL_CALL_HANG] = "hang",
		[KL_CALL_CHEAT] = "cheat",
		[KL_CALL_EXIT] = "cheat",
		[KL_CALL_LAUNCH] = "launch",
	};
	/* clang-format on */

	return classes[end];
}

const char *kl_failure_class_wrong(const struct kl_mismatch *mismatch)
{
	return mismatch->edge_only ? "wrong-edge" : "wrong-all";
}

json_t *kl_failure(const struct kl_job *job, const struct kl_member *at,
		   const struct kl_mismatch *mismatch, const char *why)
{
	json_t *failure = json_object(), *index;
	KL_AUTO(kl_freep) char *seed = job->seed ? kl_asprintf("%" PRIu64, job->seed) : NULL;

	kl_json_set_str(failure, "point", at->point->id);
	kl_json_set_str(failure, "band", at->band);
	if (seed)
		kl_json_set_str(failure, "seed", seed);
	kl_json_set_str(failure, "why", why);
	kl_json_set_str(failure, "out",
			mismatch && mismatch->out >= 0 ? job->arg[mismatch->out].name : NULL);
	if (!mismatch || mismatch->out < 0)
		return failure;
	index = json_array();
	for (size_t i = 0; i < mismatch->naxes; i++)
		json_array_append_new(index, json_integer(mismatch->index[i]));
	kl_json_set(failure, "index", index);
	kl_json_set_str(failure, "got", mismatch->got);
	kl_json_set_str(failure, "wanted", mismatch->wanted);
	return failure;
}
