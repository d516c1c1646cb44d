/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WALK_JUDGE_H
#define KL_WALK_JUDGE_H

#include "walk/sequencer.h"

/*
 * judge - judges proposals for the sequencer and commits them as steps or as rejections.
 */

#define KL_JUDGE_LATER 1 /* there is no verdict yet: the job must still be sent to a worker */

/**
 * Judge K* itself. Return 0, KL_JUDGE_LATER or an error. Return KL_ENO if the verdict on K* is fail
 * or inconclusive; its event is noted and the operation has ended. Return KL_ECANNOT if the verdict
 * is "not run".
 */
int kl_judge_expert(struct kl_sequencer *sequencer);
/**
 * Judge the pending proposal. Return 0, KL_JUDGE_LATER or an error. Return KL_ECANNOT if the
 * verdict is "not run".
 */
int kl_judge_pending(struct kl_sequencer *sequencer);
/** Accept the pending proposal, which passed, as a step. `delta` is as in kl_walk_seen. */
int kl_judge_accept(struct kl_sequencer *sequencer, struct kl_judgement *judgement,
		    const char *delta);
/** Reject the pending proposal with class "skipped", without judging it. */
int kl_judge_skip(struct kl_sequencer *sequencer);

/** Convert facts to and from {"features":[...],"traits":{...},"code":"..."}. */
json_t *kl_judge_facts_json(const struct kl_facts *facts);
void kl_judge_facts_read(struct kl_facts *out, const json_t *value);

#endif
