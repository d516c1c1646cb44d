/* SPDX-License-Identifier: Apache-2.0 */
#include "walk/fold.h"

#include <string.h>

#include "base/error.h"
#include "walk/effect.h"

#define MAX_MEASUREMENTS 3

/*
 * Return true if the pending proposal may be folded: it takes back commits. A part of a compound
 * step names none.
 */
static bool may_fold(const struct kl_walk *walk)
{
	return json_array_size(json_object_get(kl_walk_pending(walk), "commits")) > 0 &&
	       !kl_json_bool_or(walk->state, "keep_all", false);
}

bool kl_fold_is_due(const struct kl_sequencer *sequencer, const struct kl_event *event)
{
	return may_fold(&sequencer->op.walk) && kl_effect_of(event) == KL_EFFECT_NOTHING;
}

int kl_fold_measure(struct kl_judgement **judgement, struct kl_sequencer *sequencer)
{
	for (int i = 1; i < MAX_MEASUREMENTS && sequencer->judge_anew; i++) {
		struct kl_judgement *again = NULL;
		int err;

		if ((*judgement)->deferred || !may_fold(&sequencer->op.walk) ||
		    !kl_effect_is_hidden((*judgement)->event))
			break;
		err = sequencer->judge_anew(&again, sequencer->op.pending, sequencer->op.state,
					    sequencer->payload);
		if (err < 0)
			return err;
		kl_judgement_free(*judgement);
		*judgement = again;
	}
	return 0;
}
