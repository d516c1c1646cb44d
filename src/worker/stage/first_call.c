/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/stage/first_call.h"

#include <string.h>

#include "base/error.h"
#include "base/rng.h"

#define MARK ((uint64_t)0x5eed << 48)
#define MARK_BITS ((uint64_t)0xffff << 48)

/* A number for each call, from what does not change if other members are missing (FNV-1a). */
static uint64_t call_number(const struct kl_member *member, bool right)
{
	const char *const part[] = { member->point->id, "/", member->band };
	uint64_t hash = 0xcbf29ce484222325u;

	for (size_t i = 0; i < KL_ARRAY_SIZE(part); i++)
		for (const char *at = part[i]; *at; at++)
			hash = (hash ^ (unsigned char)*at) * 0x100000001b3u;
	return (hash ^ ((uint64_t)member->draw << 1 | right)) * 0x100000001b3u;
}

bool kl_first_call_of(size_t *member, bool *right, const struct kl_pool *pool, uint64_t seed)
{
	uint64_t least = UINT64_MAX;
	bool found = false;

	if ((seed & MARK_BITS) != MARK)
		return false;
	for (size_t i = 0; i < kl_pool_size(pool); i++)
		for (int side = 0; side < 2; side++) {
			uint64_t now = kl_rng_mix(seed ^ call_number(kl_pool_get(pool, i), side));

			if (found && now >= least)
				continue;
			least = now;
			*member = i;
			*right = side;
			found = true;
		}
	return found;
}

uint64_t kl_first_call_seed(const struct kl_pool *pool, size_t member, bool right)
{
	for (;;) {
		uint64_t seed = MARK | (kl_rng_os_seed() & ~MARK_BITS);
		size_t at;
		bool side;

		if (kl_first_call_of(&at, &side, pool, seed) && at == member && side == right)
			return seed;
	}
}
