/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_POOL_YARDSTICKS_H
#define KL_WORKER_POOL_YARDSTICKS_H

#include "worker/compare/yardstick.h"

/*
 * yardsticks - the yardsticks (compare/yardstick.h) of a pool: one for each point, band and rule
 * `noise`. An execution is the honest answer to one member.
 */
struct kl_yardsticks {
	const struct kl_job *job;
	struct kl_yardsticks_band {
		const struct kl_point *point;
		char band[32];
		struct kl_yardstick *rule; /* one for each rule of the job */
	} * band;
	size_t n, alloc;
};

void kl_yardsticks_release(struct kl_yardsticks *yardsticks);
/**
 * Add the honest answer to a member, whose tolerances are `tolerance`, to the yardsticks of its
 * band. Exact bands, twins and further bands have no yardsticks: their members are ignored.
 */
void kl_yardsticks_add(struct kl_yardsticks *yardsticks, const struct kl_member *member,
		       const struct kl_tolerance *tolerance);
void kl_yardsticks_finish(struct kl_yardsticks *yardsticks);
/** Return true if the noise band of a point has enough executions (kl_yardstick_is_settled()). */
bool kl_yardsticks_settled(const struct kl_yardsticks *yardsticks, const struct kl_point *pt,
			   double least);
/**
 * Return the yardstick of rule `index` for a member: that of its band (for a twin, that of the
 * noise band) or, if its band has at most one execution and elements share roundings, that of the
 * noise band. Return NULL if the member's own honest errors decide.
 */
const struct kl_yardstick *kl_yardsticks_find(const struct kl_yardsticks *yardsticks,
					      const struct kl_member *member, size_t index);

#endif
