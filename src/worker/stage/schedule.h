/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_STAGE_SCHEDULE_H
#define KL_WORKER_STAGE_SCHEDULE_H

#include "base/rng.h"
#include "worker/stage/rounds.h"

/*
 * schedule - the inputs of one point, and which calls to skip there because calls are slow. The files
 * of rounds share it.
 */
struct kl_schedule {
	struct kl_inquiry *inquiry;
	const struct kl_point *point;
	size_t *all; /* indices of its members, the twin last */
	bool *side;  /* for each of them, the side of its first call */
	size_t n;
	bool twin;
	bool one_side; /* cuda: all calls of a process have the same side */
	struct kl_rng rng;
	/* for the current round: */
	const size_t *member;
	size_t spare;       /* index of a call that is made only if calls are slow */
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
/** Least cost of a call at the point so far, as in inquiry.h; 0: unknown. */
int64_t kl_schedule_cost(const struct kl_schedule *schedule);
/** Decide from the least cost seen so far, which errs towards skipping too few calls. */
enum kl_saving kl_schedule_saving(const struct kl_schedule *schedule);
/** Number of inputs that there is time for; the first, which is noise, is called twice. */
size_t kl_schedule_affordable(const struct kl_schedule *schedule);
/** Set what was left out so far. */
void kl_schedule_left(struct kl_rounds_left *left, const struct kl_schedule *schedule);

#endif
