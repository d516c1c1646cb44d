/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_STAGE_SCHEDULE_H
#define KL_WORKER_STAGE_SCHEDULE_H

#include "base/rng.h"
#include "worker/stage/rounds.h"

/*
 * schedule - holds the inputs of one point and decides which calls to skip there if calls are slow.
 * rounds.c and rounds_perf.c share it.
 */
struct kl_schedule {
	struct kl_inquiry *inquiry;
	const struct kl_point *point;
	size_t *all; /* pool indices of the point's members, the twin last */
	bool *side;  /* guard side of each member's first call; true for right */
	size_t n;    /* number of members */
	bool twin;   /* the point has a twin */
	struct kl_rng rng;
	/* for the current round: */
	const size_t *member; /* pool indices, in the order of the calls */
	/* index in `member` of a call made only if calls are slow; SIZE_MAX if there is none */
	size_t spare;
	size_t first, step; /* if calls are slow, make only every `step`-th call from `first` on */
};

enum kl_saving {
	KL_SAVING_NONE,
	KL_SAVING_LEAN, /* call each input once */
	KL_SAVING_LEAST /* skip some inputs */
};

void kl_schedule_init(struct kl_schedule *schedule, struct kl_inquiry *inquiry,
		      const struct kl_point *pt);
void kl_schedule_release(struct kl_schedule *schedule);
/** Return true if all calls of a round have the same guard side, as on surface cuda. */
static inline bool kl_schedule_is_one_sided(const struct kl_schedule *schedule)
{
	return schedule->inquiry->job->surface == KL_SURFACE_CUDA;
}
/** Return the lowest cost of a call at the point so far (kl_inquiry.cost); 0 if unknown. */
int64_t kl_schedule_cost(const struct kl_schedule *schedule);
/**
 * Decide how many calls to skip. The lowest cost so far is used, so that too few calls are skipped
 * rather than too many.
 */
enum kl_saving kl_schedule_saving(const struct kl_schedule *schedule);
/**
 * Return on how many inputs the kernel can be called in the time that is left, if it is called
 * twice on the first input. The result is at least 2.
 */
size_t kl_schedule_affordable(const struct kl_schedule *schedule);
/** Set `left` from the calls made so far. */
void kl_schedule_left(struct kl_rounds_left *left, const struct kl_schedule *schedule);

#endif
