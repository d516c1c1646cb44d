/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_POOL_ANSWER_H
#define KL_WORKER_POOL_ANSWER_H

#include "worker/compare/compare.h"
#include "worker/pool/pool.h"

/*
 * answer - holds a made-up answer, to find out whether the rules accept it. It has one buffer for
 * each output, in the kernel's dtype.
 *
 *	KL_AUTO(kl_answer_release) struct kl_answer x = { 0 };
 *
 *	kl_answer_truth(&x, job, m);
 *	... spoil x.bytes[out] ...
 *	kl_answer_compare(&mismatch, job, m, &x);
 */
struct kl_answer {
	/* by argument; NULL if it is not an output, or has no buffer yet */
	char *bytes[KL_MAX_ARGS];
};

void kl_answer_release(struct kl_answer *answer);
/** Allocate a buffer for every output that has none yet, for its size at the member's point. */
void kl_answer_room(struct kl_answer *answer, const struct kl_job *job,
		    const struct kl_member *member);
/**
 * Set output `i` to `from`, an oracle's output, converted to the dtype. For a float dtype, `from`
 * holds doubles (`real_is_double`) or floats; otherwise it holds integers of the same dtype.
 */
void kl_answer_put(struct kl_answer *answer, const struct kl_job *job,
		   const struct kl_member *member, size_t i, const void *from, bool real_is_double);
/** Set every output to the truth of `member`, rounded to the dtype. */
void kl_answer_truth(struct kl_answer *answer, const struct kl_job *job,
		     const struct kl_member *member);
/** Compare the answer with the truth of `member`, as kl_compare() does. */
int kl_answer_compare(struct kl_mismatch *at, const struct kl_job *job,
		      const struct kl_member *member, const struct kl_answer *answer);
/**
 * Judge the answer with kl_compare_first(). Return 1 if it is right; 0 if not, with the first wrong
 * element in *at; negative on error.
 */
int kl_answer_right(struct kl_mismatch *at, const struct kl_job *job,
		    const struct kl_member *member, const struct kl_answer *answer);

#endif
