/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WALK_JUDGE_H
#define KL_WALK_JUDGE_H

#include "walk/sequencer.h"

/*
 * judge - makes a commit of a verdict, for the sequencer: a step of the walk, or a rejection.
 */

#define KL_JUDGE_LATER 1 /* no verdict yet: the job waits to be sent away */

/** K* itself. KL_ENO: it fails; its event is noted and the operation is over. */
int kl_judge_expert(struct kl_sequencer *sequencer);
/** The pending proposal. Both: 0, KL_JUDGE_LATER, or an error. */
int kl_judge_pending(struct kl_sequencer *sequencer);
/** Reject the pending proposal unjudged, class "skipped". */
int kl_judge_skip(struct kl_sequencer *sequencer);

/** {"features":[...],"traits":{...},"code":"..."} <-> facts. */
json_t *kl_judge_facts_json(const struct kl_facts *facts);
void kl_judge_facts_read(struct kl_facts *out, const json_t *value);

#endif
