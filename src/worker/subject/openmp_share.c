/* SPDX-License-Identifier: Apache-2.0 */
/* openmp_share - the constructs whose work the threads of a team share */
#include <limits.h>
#include <string.h>

#include "worker/subject/openmp.h"

/*
 * Every thread of a team meets the same constructs in the same order, and may enter the next
 * construct before other threads have left the previous one. So construct n uses element n %
 * KL_TEAM_SHARES of team->share, once all threads have left the construct that used it before.
 */
bool kl_share_enter(struct kl_member *member)
{
	uint32_t n = member->shares++;
	struct kl_share *share = &member->team->share[n % KL_TEAM_SHARES];
	uint32_t use;

	member->share = share;
	member->trip = 0;
	for (;;) {
		kl_team_lock(&share->lock);
		use = __atomic_load_n(&share->use, __ATOMIC_ACQUIRE);
		if (use == n + 1) {
			kl_team_unlock(&share->lock);
			return false;
		}
		if (!use) {
			share->use = n + 1;
			share->left = 0;
			return true;
		}
		kl_team_unlock(&share->lock);
		kl_team_await(&share->use, use, &share->waiting);
	}
}

void kl_share_opened(struct kl_member *member)
{
	kl_team_unlock(&member->share->lock);
}

void kl_share_leave(struct kl_member *member)
{
	struct kl_share *share = member->share;

	if (__atomic_add_fetch(&share->left, 1, __ATOMIC_ACQ_REL) != member->team->size)
		return;
	__atomic_store_n(&share->use, 0, __ATOMIC_SEQ_CST);
	kl_team_changed(&share->use, &share->waiting);
}

void kl_share_describe(struct kl_share *share, const struct kl_loop *loop, uint32_t size)
{
	uint64_t chunk = loop->chunk;

	if (!chunk)
		chunk = loop->schedule == KL_SCHEDULE_STATIC ? (loop->count + size - 1) / size : 1;
	share->start = loop->start;
	share->end = loop->end;
	share->step = loop->step;
	share->count = loop->count;
	share->chunk = chunk ? chunk : 1;
	share->schedule = loop->schedule;
	share->next = 0;
	share->turn = 0;
}
