/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/measure/failure.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

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

bool kl_failure_is_secret(const struct kl_job *job, const struct kl_member *member)
{
	return !job->seed && !member->own;
}

/*
 * Return the length of the number at the start of `at`, including its sign; 0 if there is no
 * number.
 */
static size_t number_length(const char *at)
{
	size_t n = strspn(at, "+-"), sign = n;

	if (n > 1 || !isdigit((unsigned char)at[n]))
		return 0;
	while (isdigit((unsigned char)at[n]) || (at[n] && strchr(".xabcdef", at[n])) ||
	       (n > sign && at[n - 1] == 'e' && at[n] && strchr("+-", at[n])))
		n++;
	return n;
}

char *kl_failure_hidden(const char *text)
{
	KL_AUTO(kl_buf_release) struct kl_buf out = KL_BUF_INIT;

	for (const char *at = text; *at;) {
		/* digits within a name belong to the name */
		bool name = at > text && (isalnum((unsigned char)at[-1]) || at[-1] == '_');
		size_t n = name ? 0 : number_length(at);

		if (n)
			kl_buf_adds(&out, "...");
		else
			kl_buf_addch(&out, *at);
		at += n ? n : 1;
	}
	return kl_buf_detach(&out);
}

void kl_failure_hide(json_t *failure)
{
	static const char *const telling[] = { "index", "got", "wanted" };
	KL_AUTO(kl_freep) char *why = kl_failure_hidden(kl_json_str_or(failure, "why", ""));

	for (size_t i = 0; i < KL_ARRAY_SIZE(telling); i++)
		json_object_del(failure, telling[i]);
	kl_json_set_str(failure, "why", why);
}

void kl_failure_place(char *out, size_t cap, const struct kl_job *job, const struct kl_member *at)
{
	size_t n = (size_t)snprintf(out, cap, "'%s'", at->point->id);

	for (size_t i = 0; i < job->ndim && at->point->drawn && n < cap; i++)
		n += (size_t)snprintf(out + n, cap - n, "%s%.24s=%" PRId64 "%s", i ? ", " : " (",
				      job->dim_name[i], at->point->dim[i],
				      i + 1 == job->ndim ? ")" : "");
	if (n < cap)
		snprintf(out + n, cap - n, ", band '%s'", at->band);
}

json_t *kl_failure_dims(const struct kl_job *job, const struct kl_point *pt)
{
	json_t *dims = json_object();

	for (size_t i = 0; i < job->ndim; i++)
		kl_json_set_int(dims, job->dim_name[i], pt->dim[i]);
	return dims;
}

json_t *kl_failure(const struct kl_job *job, const struct kl_member *at,
		   const struct kl_mismatch *mismatch, const char *why)
{
	json_t *failure = json_object(), *index;
	KL_AUTO(kl_freep) char *seed = job->seed ? kl_asprintf("%" PRIu64, job->seed) : NULL;

	kl_json_set_str(failure, "point", at->point->id);
	if (at->point->drawn)
		kl_json_set(failure, "dims", kl_failure_dims(job, at->point));
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
