/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_TRANSPLANT_TRANSPLANT_PARTS_H
#define KL_TRANSPLANT_TRANSPLANT_PARTS_H

#include "base/lock.h"
#include "transplant/transplant.h"

/* transplant_parts - functions shared by the files of transplants. Inside src/transplant only. */

/**
 * Judge a kernel, and measure it once more if noise hides how it compares with `parent`. Return
 * KL_ECANNOT if the gate did not run.
 */
int kl_transplant_judge_kernel(struct kl_judgement **out, const struct kl_transplant_opts *opts,
			       const struct kl_surface *kernel, const struct kl_surface *parent);
/** Count a judgement as reached, known or waiting. Return false if it is waiting. */
bool kl_transplant_count(struct kl_transplant *transplant, const struct kl_judgement *judgement);
/** Return true, and set transplant->late, if the deadline has passed. */
bool kl_transplant_is_late(struct kl_transplant *transplant, const struct kl_transplant_opts *opts);
/**
 * Take the lineage's lock. Return KL_EBUSY if another process transplants or prunes this lineage.
 */
int kl_transplant_lock(struct kl_lock *lock, struct kl_repo *repo,
		       const struct kl_transplant *transplant);
/** Judge like kl_transplant_judge(), for a caller that holds the lock. */
int kl_transplant_judge_locked(struct kl_transplant *transplant, struct kl_repo *repo,
			       const struct kl_transplant_opts *opts);

#endif
