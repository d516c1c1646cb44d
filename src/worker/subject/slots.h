/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_SUBJECT_SLOTS_H
#define KL_WORKER_SUBJECT_SLOTS_H

#include <stddef.h>

#include "worker/subject/wire.h"

/*
 * slots - address space for the tensors of a child, handed out in random order.
 *
 * Each slot has room for the largest tensor at any point of the job, and a child that is called at
 * one point has as many slots as a child that is called at two. So the distance of two tensors does
 * not tell a kernel in which of these children it runs. Each slot has unmapped guards on both
 * sides.
 */
struct kl_slots {
	uint64_t base, step; /* address of the first slot; bytes from one slot to the next */
	unsigned short order[KL_WIRE_POINTS * KL_WIRE_VIEWS * KL_MAX_ARGS];
	size_t n, next; /* number of slots; index in `order` of the next to hand out */
};

/** Reserve slots for all tensors of a plan; they stay reserved until the process ends. */
int kl_slots_reserve(struct kl_slots *slots, const struct kl_wire *plan);
/** Hand out the next slot and return its address. */
uint64_t kl_slots_take(struct kl_slots *slots);

#endif
