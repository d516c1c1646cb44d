/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_SUBJECT_SLOTS_H
#define KL_WORKER_SUBJECT_SLOTS_H

#include <stddef.h>

#include "worker/subject/wire.h"

/*
 * slots - address space for the tensors of a child, handed out in random order.
 *
 * There are as many slots of the same size whether the child is called at one point or at two, so
 * that the distance of two tensors does not tell a kernel which. Each slot has unmapped guards on
 * both sides.
 */
struct kl_slots {
	uint64_t base, step;
	unsigned short order[KL_WIRE_POINTS * KL_WIRE_VIEWS * KL_MAX_ARGS];
	size_t n, next;
};

/** Reserve slots for all tensors of a plan; they stay reserved until the process ends. */
int kl_slots_reserve(struct kl_slots *slots, const struct kl_wire *plan);
/** The address of a slot that nobody has yet. */
uint64_t kl_slots_take(struct kl_slots *slots);

#endif
