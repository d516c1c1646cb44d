/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/measure/profile_failure.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/mem.h"

#include "worker/measure/failure.h"
#include "worker/measure/replay.h"

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
			 const struct kl_mismatch *mismatch, const char *why)
{
	json_t *correct = json_object_get(result, "correct");

	json_t *failure = kl_failure(job, at, mismatch, why);
	KL_AUTO(kl_freep) char *message = kl_failure_hidden(kl_json_str_or(result, "message", ""));

	if (!correct)
		kl_json_set(result, "correct", correct = json_object());
	kl_json_set(correct, "failure", failure);
	if (!kl_failure_is_secret(job, at))
		return;
	kl_failure_hide(failure);
	kl_json_set_str(result, "message", message);
}

int kl_profile_fail_end(json_t *result, const struct kl_job *job, const struct kl_member *at,
			const struct kl_call *call)
{
	char why[300];

	snprintf(why, sizeof(why), "while it was timed, the kernel %s", call->what);
	kl_profile_fail(result, kl_failure_class(call->end), "%s", why);
	kl_profile_describe(result, job, at, NULL, why);
	return KL_PROFILE_FAILED;
}

int kl_profile_fail_wrong(json_t *result, const struct kl_job *job, const struct kl_member *at,
			  const struct kl_mismatch *mismatch, const struct kl_member *kept)
{
	char why[300], what[160];

	if (kept) {
		kl_replay_why(what, sizeof(what), kept);
		snprintf(why, sizeof(why), "a timed call was %s", what);
		kl_profile_fail(result, "cheat", "%s", why);
	} else {
		snprintf(why, sizeof(why), "a timed call answered wrongly: %s", mismatch->why);
		kl_profile_fail(result, kl_failure_class_wrong(mismatch), "%s: got %s, wanted %s",
				why, mismatch->got, mismatch->wanted);
	}
	kl_profile_describe(result, job, at, mismatch, why);
	return KL_PROFILE_FAILED;
}
