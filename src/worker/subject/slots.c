/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/subject/slots.h"

#include <sys/mman.h>

#include "base/error.h"
#include "base/rng.h"

static void shuffle_slots(struct kl_slots *slots)
{
	struct kl_rng rng;

	kl_rng_seed(&rng, kl_rng_os_seed());
	for (size_t i = 0; i < slots->n; i++)
		slots->order[i] = (unsigned short)i;
	kl_rng_shuffle(&rng, slots->order, slots->n, sizeof(*slots->order));
}

int kl_slots_reserve(struct kl_slots *slots, const struct kl_wire *plan)
{
	void *range;

	*slots = (struct kl_slots){ .n = (size_t)KL_WIRE_POINTS * KL_WIRE_VIEWS * plan->nargs };
	slots->step = plan->largest + 2 * KL_WIRE_GUARD;
	if (!slots->n)
		return 0;
	range = mmap(NULL, slots->n * slots->step, PROT_NONE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (range == MAP_FAILED)
		return kl_error_errno(
			"cannot reserve address space for %zu tensors of %llu bytes each", slots->n,
			(unsigned long long)plan->largest);
	slots->base = (uint64_t)(uintptr_t)range + KL_WIRE_GUARD;
	shuffle_slots(slots);
	return 0;
}

uint64_t kl_slots_take(struct kl_slots *slots)
{
	if (slots->next == slots->n)
		KL_BUG("more tensors than slots");
	return slots->base + slots->order[slots->next++] * slots->step;
}
