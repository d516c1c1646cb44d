/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_MEASURE_JUDGE_H
#define KL_WORKER_MEASURE_JUDGE_H

#include "worker/compare/compare.h"
#include "worker/pool/answer.h"

/*
 * judge - judges the answers of one kernel. The first right answer to each input is kept, for either
 * side that its buffers were aligned to, since that may change how sums are grouped. An answer with
 * the bits of one that was kept is right; any other is compared with the truth. So a kernel that
 * gives the same bits each time is compared once or twice for each input, and one that does not is
 * noticed, however many calls there are.
 *
 *	KL_AUTO(kl_judge_release) struct kl_judge judge = { .job = job };
 *
 *	err = kl_judge_answer(&mismatch, &judge, &(struct kl_judge_call){ member, right, got });
 */

struct kl_judge {
	const struct kl_job *job;
	struct kl_judged {
		const struct kl_member *member;
		int64_t elements; /* that were compared */
		struct kl_answer answer[2];
		bool kept[2]; /* which of them there are */
	} * judged;
	size_t n, alloc;
	size_t bytes; /* of all answers kept; limited */
};

void kl_judge_release(struct kl_judge *judge);

struct kl_judge_call {
	const struct kl_member *member;
	bool right; /* the side that the buffers were aligned to */
	const void *const *got;
};
/** Judge an answer; results and errors are those of kl_compare(). */
int kl_judge_answer(struct kl_mismatch *mismatch, struct kl_judge *judge,
		    const struct kl_judge_call *call);
/**
 * Find the first element that differs in its bits from the answer kept for the same input and side.
 * False: there is none, or no answer was kept. Sets what kl_compare() sets of a mismatch, except
 * `why`.
 */
bool kl_judge_changed(struct kl_mismatch *mismatch, const struct kl_judge *judge,
		      const struct kl_judge_call *call);

#endif
