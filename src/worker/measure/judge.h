/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_MEASURE_JUDGE_H
#define KL_WORKER_MEASURE_JUDGE_H

#include "base/sha256.h"
#include "worker/compare/compare.h"
#include "worker/pool/answer.h"

/*
 * judge - judges the answers of one kernel. The first right answer to each input is kept, one for
 * each guard side, since the alignment of buffers may change how sums are grouped. An answer with
 * the same bits as a kept answer is right; any other answer is compared with the truth. So the
 * answers of a kernel that gives the same bits each time are compared with the truth only once or
 * twice for each input, however many calls there are. A kernel that gives other bits is noticed.
 *
 *	KL_AUTO(kl_judge_release) struct kl_judge judge = { .job = job };
 *
 *	err = kl_judge_answer(&mismatch, &judge, &(struct kl_judge_call){ member, right, got });
 */

struct kl_judge {
	const struct kl_job *job;
	struct kl_judged {
		const struct kl_member *member;
		int64_t elements;           /* number of elements compared */
		struct kl_answer answer[2]; /* kept answers, [0]: left guard side, [1]: right */
		bool kept[2];               /* kept[side]: an answer is kept */
	} * judged;
	size_t n, alloc;
	size_t bytes; /* limited total size of the kept answers, except the accepted ones */
};

void kl_judge_release(struct kl_judge *judge);

struct kl_judge_call {
	const struct kl_member *member;
	bool right;             /* guard side: the buffers were aligned to their right guard page */
	const void *const *got; /* outputs by argument, as for kl_compare() */
};
/** Judge an answer; results and errors are those of kl_compare(). */
int kl_judge_answer(struct kl_mismatch *mismatch, struct kl_judge *judge,
		    const struct kl_judge_call *call);
/**
 * Treat an answer as right from now on, after kl_judge_answer() found it wrong and gave `mismatch`
 * (redraw.h). It is kept in any case, so that it is not found wrong again; a stage accepts at most
 * KL_REDRAW_TIMES answers.
 */
void kl_judge_accept(struct kl_judge *judge, const struct kl_judge_call *call,
		     const struct kl_mismatch *mismatch);
/**
 * Find the first element whose bits differ from the answer kept for the same input and guard side.
 * Return false if there is no such element, or if no answer was kept. Sets the place and the values
 * in `mismatch`, but not `why`.
 */
bool kl_judge_changed(struct kl_mismatch *mismatch, const struct kl_judge *judge,
		      const struct kl_judge_call *call);

/**
 * Compute a digest of the first answer to each input. Two kernels that were called with the same
 * inputs have the same digest if their answers have the same bits, whatever the order of the calls.
 * Return false if no answer, or not every answer, was kept.
 */
bool kl_judge_digest(char hex[KL_SHA256_HEX], const struct kl_judge *judge);

#endif
