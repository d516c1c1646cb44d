/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/measure/lateness.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"

void kl_lateness_release(struct kl_lateness *lateness)
{
	for (int who = 0; who < KL_BLOCKS_SUBJECTS; who++)
		free(lateness->ns[who]);
	*lateness = (struct kl_lateness){ .blocks = 0 };
}

/* End the current block and store its means, unless it has no visit of the candidate. */
static void end_block(struct kl_lateness *lateness)
{
	size_t room = lateness->alloc;

	if (!lateness->n[KL_BLOCKS_CANDIDATE])
		return;
	if (lateness->blocks == room)
		room = 2 * room + 16;
	for (int who = 0; who < KL_BLOCKS_SUBJECTS; who++) {
		if (room != lateness->alloc)
			lateness->ns[who] = kl_realloc(lateness->ns[who], room, sizeof(double));
		/* this 0 is never read: a subject without visits is not compared */
		lateness->ns[who][lateness->blocks] = lateness->n[who] ? lateness->sum[who] /
										 lateness->n[who] :
									 0;
		lateness->sum[who] = 0;
		lateness->n[who] = 0;
	}
	lateness->alloc = room;
	lateness->blocks++;
}

void kl_lateness_begin(struct kl_lateness *lateness)
{
	end_block(lateness);
}

void kl_lateness_add(struct kl_lateness *lateness, enum kl_blocks_who who, int64_t late_ns)
{
	lateness->sum[who] += (double)late_ns;
	lateness->n[who]++;
}

static double beyond_doubt(const struct kl_lateness *lateness, enum kl_blocks_who other)
{
	KL_AUTO(kl_freep) double *more = kl_calloc(lateness->blocks, sizeof(*more));

	for (size_t i = 0; i < lateness->blocks; i++)
		more[i] = (lateness->ns[KL_BLOCKS_CANDIDATE][i] +
			   lateness->ns[KL_BLOCKS_AGAIN][i]) /
				  2 -
			  lateness->ns[other][i];
	return kl_stats_centre(more, lateness->blocks).lo;
}

int64_t kl_lateness_charge(struct kl_lateness *lateness, struct kl_blocks *blocks)
{
	enum kl_blocks_who other = blocks->subject[KL_BLOCKS_PARENT].there ? KL_BLOCKS_PARENT :
									     KL_BLOCKS_BASELINE;
	double ns;

	end_block(lateness);
	if (!blocks->subject[other].there || !lateness->blocks)
		return 0;
	ns = beyond_doubt(lateness, other);
	if (!(ns > 0))
		return 0;
	for (int who = KL_BLOCKS_CANDIDATE; who <= KL_BLOCKS_AGAIN; who++)
		for (size_t i = 0; i < blocks->n; i++)
			blocks->subject[who].log_ns[i] = log(exp(blocks->subject[who].log_ns[i]) +
							     ns);
	return llround(ns);
}
