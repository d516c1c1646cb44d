/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_MEASURE_REDRAW_H
#define KL_WORKER_MEASURE_REDRAW_H

#include "text/json.h"
#include "worker/compare/compare.h"
#include "worker/pool/pool.h"
#include "worker/subject/trial.h"

/*
 * redraw - decides if an answer that the rule `noise` refuses is wrong by chance. The limits come
 * from a few honest errors, so that now and then a sound kernel exceeds them a little. Such a
 * kernel answers other inputs correctly: the band of the input is drawn KL_REDRAWS times more, and
 * the kernel must answer every one of these draws correctly.
 *
 * This gives a kernel that is wrong now and then hardly another chance. One that fails a share p of
 * all draws passes with the probability (1 - p)^KL_REDRAWS; there are at most KL_REDRAW_TIMES
 * redraws for all calls of a stage (an input and its twin fail together). An answer gets a redraw
 * only if `noise` is the only rule that refuses it, and each error is at most KL_REDRAW_MOST times
 * the allowed one.
 */
#define KL_REDRAWS 16
#define KL_REDRAW_TIMES 2
#define KL_REDRAW_MOST 2

/* The redraws of a stage. */
struct kl_redraws {
	int tried;                       /* number of redraws so far */
	char note[KL_REDRAW_TIMES][500]; /* the result of each, a sentence */
};
/** Append the results of the redraws to `notes`. */
void kl_redraws_note(json_t *notes, const struct kl_redraws *redraws);

struct kl_redraw {
	const struct kl_job *job;
	const struct kl_pool *pool; /* the pool whose yardsticks the fresh draws get */
	int cpu;                    /* processor of the child; -1: any */
	const int64_t *ns;          /* as in struct kl_fresh */
	struct kl_redraws *stage;   /* the redraws of the whole stage; NULL: there are none */
};

/**
 * Draw again if the answer `got` to `member`, for which kl_compare() gave `mismatch` in a call like
 * `trial`, may be wrong by chance. First the same call is made again in a new process: for a
 * deterministic kernel its answer must have the same bits, so that it does not depend on other
 * calls. Returns 1 if the kernel answers all fresh draws correctly, 0 if not or if there is no
 * redraw, negative on error. If 1, the margin and the elements in `mismatch` are those of all
 * outputs, also of those after the first that is wrong.
 */
int kl_redraw(const struct kl_redraw *redraw, const struct kl_member *member,
	      struct kl_mismatch *mismatch, const struct kl_trial *trial, const void *const *got);

#endif
