/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/profile_fail.h"

#include <stdarg.h>
#include <stdio.h>

#include "worker/replay.h"

int kl_profile_fail(json_t *result, const char *class, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	kl_json_set_str(result, "status", "fail");
	kl_json_set_str(result, "class", class);
	kl_json_set_str(result, "message", text);
	return KL_PROFILE_FAILED;
}

void kl_profile_describe(json_t *result, const struct kl_job *job, const struct kl_member *at,
			 const struct kl_mismatch *m, const char *why)
{
	json_t *correct = json_object_get(result, "correct"), *f = json_object();
	char seed[24];

	if (!correct)
		kl_json_set(result, "correct", correct = json_object());
	snprintf(seed, sizeof(seed), "%llu", (unsigned long long)at->seed);
	kl_json_set_str(f, "point", at->point->id);
	kl_json_set_str(f, "band", at->band);
	kl_json_set_str(f, "seed", seed);
	kl_json_set_str(f, "out", m->out >= 0 ? job->arg[m->out].name : NULL);
	kl_json_set_str(f, "why", why);
	if (m->out >= 0) {
		json_t *index = json_array();

		for (size_t i = 0; i < m->naxes; i++)
			json_array_append_new(index, json_integer(m->index[i]));
		kl_json_set(f, "index", index);
		kl_json_set_str(f, "got", m->got);
		kl_json_set_str(f, "wanted", m->wanted);
	}
	kl_json_set(correct, "failure", f);
}

int kl_profile_fail_end(json_t *result, const struct kl_job *job, const struct kl_member *at,
			const struct kl_call *call)
{
	static const char *const classes[] = {
		[KL_CALL_FAULT] = "fault",
		[KL_CALL_HANG] = "hang",
		[KL_CALL_CHEAT] = "cheat",
		[KL_CALL_EXIT] = "cheat",
		[KL_CALL_LAUNCH] = "launch",
	};
	const struct kl_mismatch none = { .out = -1 };
	char why[300];

	snprintf(why, sizeof(why), "while it was timed, the kernel %s", call->what);
	kl_profile_fail(result, classes[call->end], "%s", why);
	kl_profile_describe(result, job, at, &none, why);
	return KL_PROFILE_FAILED;
}

int kl_profile_fail_wrong(json_t *result, const struct kl_job *job, const struct kl_member *at,
			  const struct kl_mismatch *m, const struct kl_member *kept)
{
	char why[300], what[160];

	if (kept) {
		kl_replay_why(what, sizeof(what), kept);
		snprintf(why, sizeof(why), "a timed call was %s", what);
		kl_profile_fail(result, "cheat", "%s", why);
	} else {
		snprintf(why, sizeof(why), "a timed call answered wrongly: %s", m->why);
		kl_profile_fail(result, m->edge_only ? "wrong-edge" : "wrong-all",
				"%s: got %s, wanted %s", why, m->got, m->wanted);
	}
	kl_profile_describe(result, job, at, m, why);
	return KL_PROFILE_FAILED;
}
