/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/measure/failure.h"

#include <inttypes.h>
#include <stdio.h>

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

const char *kl_failure_class_wrong(const struct kl_mismatch *m)
{
	return m->edge_only ? "wrong-edge" : "wrong-all";
}

json_t *kl_failure(const struct kl_job *job, const struct kl_member *at,
		   const struct kl_mismatch *m, const char *why)
{
	json_t *f = json_object(), *index;
	char seed[24];

	snprintf(seed, sizeof(seed), "%" PRIu64, at->seed);
	kl_json_set_str(f, "point", at->point->id);
	kl_json_set_str(f, "band", at->band);
	kl_json_set_str(f, "seed", seed);
	kl_json_set_str(f, "why", why);
	kl_json_set_str(f, "out", m && m->out >= 0 ? job->arg[m->out].name : NULL);
	if (!m || m->out < 0)
		return f;
	index = json_array();
	for (size_t i = 0; i < m->naxes; i++)
		json_array_append_new(index, json_integer(m->index[i]));
	kl_json_set(f, "index", index);
	kl_json_set_str(f, "got", m->got);
	kl_json_set_str(f, "wanted", m->wanted);
	return f;
}
