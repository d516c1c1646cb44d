/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/subject/spot_check.h"

#include <string.h>

#define WORD sizeof(uint64_t)

/*
 * Count the words that hold data of output `i`, including those that also hold slack; 0 if it is
 * not an output.
 */
static uint64_t words_of(const struct kl_cpu_subject *subject, uint32_t i)
{
	const struct kl_wire_arg *arg = &subject->arg[i];
	uint64_t first = subject->offset[i] / WORD,
		 end = (subject->offset[i] + arg->bytes + WORD - 1) / WORD;

	return arg->tensor && arg->writable && arg->bytes ? end - first : 0;
}

static const unsigned char *place_of(const struct kl_cpu_subject *subject, uint64_t word)
{
	for (uint32_t i = 0; i < subject->wire->nargs; i++) {
		uint64_t n = words_of(subject, i);

		if (word < n)
			return subject->tensor[i].map + (subject->offset[i] / WORD + word) * WORD;
		word -= n;
	}
	return NULL;
}

void kl_spot_check_draw(struct kl_spot_check *check, struct kl_cpu_subject *subject)
{
	uint64_t all = 0;

	for (uint32_t i = 0; i < subject->wire->nargs; i++)
		all += words_of(subject, i);
	check->n = all ? KL_SPOT_CHECKS : 0;
	for (size_t i = 0; i < check->n; i++)
		check->at[i] = place_of(subject, kl_rng_below(&subject->rng, all));
}

static uint64_t load_word(const unsigned char *at)
{
	return __atomic_load_n((const uint64_t *)(const void *)at, __ATOMIC_RELAXED);
}

void kl_spot_check_take(struct kl_spot_check *check)
{
	for (size_t i = 0; i < check->n; i++)
		check->seen[i] = load_word(check->at[i]);
}

bool kl_spot_check_same(const struct kl_spot_check *check)
{
	for (size_t i = 0; i < check->n; i++)
		if (load_word(check->at[i]) != check->seen[i])
			return false;
	return true;
}
