/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_MEASURE_REDRAW_H
#define KL_WORKER_MEASURE_REDRAW_H

#include "text/json.h"
#include "worker/compare/compare.h"
#include "worker/pool/pool.h"
#include "worker/subject/trial.h"

/*
 * redraw - decides if an answer that the rule `noise` refuses is wrong by chance. The limits come
 * from a few honest errors, so that now and then a sound kernel exceeds them a little. But a sound
 * kernel answers other inputs correctly. So the band of the input is drawn KL_REDRAWS times more,
 * and the kernel must answer every one of these draws correctly.
 *
 * A kernel that is wrong now and then gains hardly anything by this. If it fails a share p of all
 * draws, it passes a redraw with the probability (1 - p)^KL_REDRAWS. There are at most
 * KL_REDRAW_TIMES redraws in a stage: more than one, because an input and its twin often fail
 * together. An answer gets a redraw only if `noise` is the only rule that refuses it, and each
 * error is at most KL_REDRAW_MOST times the allowed one.
 */
#define KL_REDRAWS 16
#define KL_REDRAW_TIMES 2
#define KL_REDRAW_MOST 2

/* The redraws of a stage. */
struct kl_redraws {
	int tried;                       /* number of redraws so far */
	char note[KL_REDRAW_TIMES][500]; /* result of each redraw, in words */
};
/** Append the results of the redraws to `notes`. */
void kl_redraws_note(json_t *notes, const struct kl_redraws *redraws);

struct kl_redraw {
	const struct kl_job *job;
	const struct kl_pool *pool; /* the pool whose yardsticks are used for the fresh draws */
	int cpu;                    /* processor of the child; -1 for any */
	const int64_t *ns;          /* as in struct kl_fresh */
	/* the redraws of the whole stage; NULL if it is never redrawn */
	struct kl_redraws *stage;
};

/**
 * Find out if the wrong answer `got` to `member` is wrong by chance. `mismatch` is the result of
 * kl_compare() for it; `trial` is its call. First the same call is made again in a new process: a
 * deterministic kernel must give the same bits, so that the answer cannot depend on other calls.
 * Then the kernel is called with fresh draws. Return 1 if the kernel answers all fresh draws
 * correctly, 0 if not or if there is no redraw, negative on error. If 1, the margin and the
 * elements in `mismatch` are those of all outputs, including those after the first wrong one.
 */
int kl_redraw(const struct kl_redraw *redraw, const struct kl_member *member,
	      struct kl_mismatch *mismatch, const struct kl_trial *trial, const void *const *got);

#endif
