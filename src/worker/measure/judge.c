/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/measure/judge.h"

#include <string.h>

#include "base/par.h"
#include "job/tensor.h"

#define MOST_BYTES ((size_t)1 << 30) /* maximum size of all kept answers together */

void kl_judge_release(struct kl_judge *judge)
{
	for (size_t i = 0; i < judge->n; i++)
		for (int side = 0; side < 2; side++)
			kl_answer_release(&judge->judged[i].answer[side]);
	free(judge->judged);
	*judge = (struct kl_judge){ .job = judge->job };
}

static struct kl_judged *find_judged(const struct kl_judge *judge, const struct kl_member *member)
{
	for (size_t i = 0; i < judge->n; i++)
		if (judge->judged[i].member == member)
			return &judge->judged[i];
	return NULL;
}

static struct kl_judged *add_judged(struct kl_judge *judge, const struct kl_member *member)
{
	KL_GROW(judge->judged, judge->n + 1, judge->alloc);
	judge->judged[judge->n] = (struct kl_judged){ .member = member };
	return &judge->judged[judge->n++];
}

static size_t bytes_of(const struct kl_job *job, const struct kl_member *member, size_t arg)
{
	if (!kl_arg_is_output(&job->arg[arg]))
		return 0;
	return kl_member_elements(member, arg) * kl_dtype_bytes(job->arg[arg].dtype);
}

/* Return the first output whose bits differ from the kept answer; -1 if none differs. */
static int changed_output(const struct kl_job *job, const struct kl_judged *judged, bool right,
			  const void *const *got)
{
	for (size_t i = 0; i < job->nargs; i++) {
		size_t n = bytes_of(job, judged->member, i);

		if (n && !kl_par_same(got[i], judged->answer[right].bytes[i], n))
			return (int)i;
	}
	return -1;
}

static void copy_answer(const struct kl_judge *judge, struct kl_judged *judged, bool right,
			const void *const *got)
{
	struct kl_answer *answer = &judged->answer[right];

	judged->kept[right] = true;
	kl_answer_room(answer, judge->job, judged->member);
	for (size_t i = 0; i < judge->job->nargs; i++)
		if (kl_arg_is_output(&judge->job->arg[i]))
			kl_par_copy(answer->bytes[i], got[i],
				    bytes_of(judge->job, judged->member, i));
}

/* Keep a right answer if it is the first on its guard side and there is room for it. */
static void keep_answer(struct kl_judge *judge, struct kl_judged *judged, bool right,
			const void *const *got)
{
	size_t need = 0;

	for (size_t i = 0; i < judge->job->nargs; i++)
		need += bytes_of(judge->job, judged->member, i);
	if (judged->kept[right] || need > MOST_BYTES - judge->bytes)
		return;
	judge->bytes += need;
	copy_answer(judge, judged, right, got);
}

int kl_judge_answer(struct kl_mismatch *mismatch, struct kl_judge *judge,
		    const struct kl_judge_call *call)
{
	struct kl_judged *judged = find_judged(judge, call->member);
	int err;

	if (!judged)
		judged = add_judged(judge, call->member);
	for (int side = 0; side < 2; side++) {
		if (!judged->kept[side] || changed_output(judge->job, judged, side, call->got) >= 0)
			continue;
		*mismatch = (struct kl_mismatch){ .out = -1, .elements = judged->elements };
		keep_answer(judge, judged, call->right, call->got);
		return 0;
	}
	err = kl_compare(mismatch, judge->job, call->member, call->got);
	if (err)
		return err;
	judged->elements = mismatch->elements;
	keep_answer(judge, judged, call->right, call->got);
	return 0;
}

void kl_judge_accept(struct kl_judge *judge, const struct kl_judge_call *call,
		     const struct kl_mismatch *mismatch)
{
	struct kl_judged *judged = find_judged(judge, call->member);

	judged->elements = mismatch->elements;
	if (!judged->kept[call->right])
		copy_answer(judge, judged, call->right, call->got);
}

bool kl_judge_changed(struct kl_mismatch *mismatch, const struct kl_judge *judge,
		      const struct kl_judge_call *call)
{
	const struct kl_judged *judged = find_judged(judge, call->member);
	const char *now, *then;
	enum kl_dtype dtype;
	size_t k = 0;
	int out;

	if (!judged || !judged->kept[call->right])
		return false;
	out = changed_output(judge->job, judged, call->right, call->got);
	if (out < 0)
		return false;
	now = call->got[out];
	then = judged->answer[call->right].bytes[out];
	while (now[k] == then[k])
		k++;
	dtype = judge->job->arg[out].dtype;
	k /= kl_dtype_bytes(dtype);
	*mismatch = (struct kl_mismatch){ .out = out,
					  .naxes = call->member->point->arg[out].naxes };
	kl_tensor_index(mismatch->index, call->member->point->arg[out].extent, mismatch->naxes, k);
	kl_tensor_print(mismatch->got, sizeof(mismatch->got), dtype, now, k);
	kl_tensor_print(mismatch->wanted, sizeof(mismatch->wanted), dtype, then, k);
	return true;
}

/* Add the digest of one kept answer, with the name of its input, to `sum`. */
static void add_answer(unsigned char sum[KL_SHA256_BYTES], const struct kl_judge *judge,
		       const struct kl_judged *judged)
{
	const struct kl_answer *answer = &judged->answer[!judged->kept[0]];
	const struct kl_member *member = judged->member;
	unsigned char digest[KL_SHA256_BYTES];
	struct kl_sha256 sha256;

	kl_sha256_begin(&sha256);
	kl_sha256_add(&sha256, member->point->id, strlen(member->point->id) + 1);
	kl_sha256_add(&sha256, member->band, strlen(member->band) + 1);
	kl_sha256_add(&sha256, &member->draw, sizeof(member->draw));
	for (size_t i = 0; i < judge->job->nargs; i++)
		if (kl_arg_is_output(&judge->job->arg[i]))
			kl_sha256_add(&sha256, answer->bytes[i], bytes_of(judge->job, member, i));
	kl_sha256_bytes(&sha256, digest);
	for (size_t i = 0; i < KL_SHA256_BYTES; i++)
		sum[i] ^= digest[i];
}

bool kl_judge_digest(char hex[KL_SHA256_HEX], const struct kl_judge *judge)
{
	unsigned char sum[KL_SHA256_BYTES] = { 0 };

	for (size_t i = 0; i < judge->n; i++) {
		if (!judge->judged[i].kept[0] && !judge->judged[i].kept[1])
			return false;
		add_answer(sum, judge, &judge->judged[i]);
	}
	kl_sha256_hex(hex, sum, sizeof(sum));
	return judge->n > 0;
}
