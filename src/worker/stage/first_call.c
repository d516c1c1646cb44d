/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/stage/first_call.h"

#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "worker/pool/members.h"

#define MARK ((uint64_t)0x5eed << 48)
#define MARK_BITS ((uint64_t)0xffff << 48)

/* Hash a call (FNV-1a). The hash does not depend on other members. */
static uint64_t call_number(const struct kl_member *member, bool right)
{
	const char *const part[] = { member->point->id, "/", member->band };
	uint64_t hash = 0xcbf29ce484222325u;

	for (size_t i = 0; i < KL_ARRAY_SIZE(part); i++)
		for (const char *at = part[i]; *at; at++)
			hash = (hash ^ (unsigned char)*at) * 0x100000001b3u;
	return (hash ^ ((uint64_t)member->draw << 1 | right)) * 0x100000001b3u;
}

/*
 * Find the call that the seed names among the calls with the `n` members of `list` on either guard
 * side. It is the call whose number, mixed with the seed, is lowest.
 */
static bool named_call(size_t *member, bool *right, const struct kl_member *list, size_t n,
		       uint64_t seed)
{
	uint64_t least = UINT64_MAX;
	bool found = false;

	for (size_t i = 0; i < n; i++)
		for (int side = 0; side < 2; side++) {
			uint64_t now = kl_rng_mix(seed ^ call_number(&list[i], side));

			if (kl_members_is_spare(&list[i]) || (found && now >= least))
				continue;
			least = now;
			*member = i;
			*right = side;
			found = true;
		}
	return found;
}

bool kl_first_call_of(size_t *member, bool *right, const struct kl_pool *pool, uint64_t seed)
{
	size_t n = kl_pool_size(pool);

	return (seed & MARK_BITS) == MARK && n &&
	       named_call(member, right, kl_pool_get(pool, 0), n, seed);
}

static size_t find_member(const struct kl_member *list, size_t n, const struct kl_member *of)
{
	size_t i = 0;

	while (i < n && (strcmp(list[i].point->id, of->point->id) || list[i].draw != of->draw ||
			 strcmp(list[i].band, of->band)))
		i++;
	return i;
}

uint64_t kl_first_call_seed(const struct kl_job *job, const struct kl_member *of, bool right)
{
	KL_AUTO(kl_freep) struct kl_member *list = NULL;
	uint64_t seed = 0;
	size_t n, index, at;
	bool side = right;

	kl_members_plan(&list, &n, job, 0);
	index = find_member(list, n, of);
	for (at = n; index < n && (at != index || side != right);) {
		seed = MARK | (kl_rng_os_seed() & ~MARK_BITS);
		named_call(&at, &side, list, n, seed);
	}
	return seed;
}
