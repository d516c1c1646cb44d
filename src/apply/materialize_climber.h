/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_APPLY_MATERIALIZE_CLIMBER_H
#define KL_APPLY_MATERIALIZE_CLIMBER_H

#include "apply/materialize_parts.h"
#include "base/map.h"

/*
 * materialize_climber - the conversation of a run with a model. Inside src/apply only.
 *
 * The whole run is one conversation. Its system texts contain the complete cards that fit the root.
 * Each turn shows a node or the result of the last edit, and offers cards; the result of the turn
 * decides which node the next turn is about. A stored turn records its node, so that a resumed run
 * goes through the same nodes again.
 */
struct kl_materialize_climber {
	struct kl_driver driver;
	struct kl_materialize_run *run;
	struct kl_strvec told; /* ids of the cards that the model has seen in full */
	size_t told_bytes;
	/* keys "<node> <card>" of cards that are no longer offered at the node */
	struct kl_map closed;
	/* the run's current position: */
	size_t at, shown; /* the current node, and the node that was last shown to the model */
	/* the cards that may be offered on a node that is not faster; empty for all cards */
	struct kl_strvec only;
	int left; /* steps that may still be made beyond nodes that are not faster */
	struct kl_retrieval pool;
	bool pooled; /* `pool` was filled for the node `at` */
	/* the last turn and the next turn: */
	/* class of the last edit, and a sentence that describes its result */
	char *class_, *outcome;
	struct kl_event *event;
	struct kl_buf offer, offered;
	size_t noffer;
};

/**
 * Append the complete card, unless the model has already seen it or the prompt is full. Set *ok to
 * true if the model has seen the card or will see it in `out`.
 */
int kl_materialize_tell_card(bool *ok, struct kl_buf *out, struct kl_materialize_climber *climber,
			     const struct kl_retrieved *retrieved);
/**
 * Remove from `told` the cards that a resumed conversation's system texts lack, so that a turn
 * shows them.
 */
void kl_materialize_forget_untold(struct kl_materialize_climber *climber);
/** Stop offering the card at the node `at`. */
void kl_materialize_close_card(struct kl_materialize_climber *climber, size_t at, const char *card);
/**
 * Compose the offer of cards for the current node. Cards that the model has not seen are given in
 * full.
 */
int kl_materialize_make_offer(struct kl_materialize_climber *climber);
/**
 * Load the card that the reply to the current turn names, if the turn offered it. If the reply names
 * no card, or one that was not offered, the step is free: *out stays NULL, and attempt->free says
 * why.
 */
int kl_materialize_named_card(struct kl_card **out, struct kl_materialize_attempt *attempt,
			      const struct kl_materialize_climber *climber, const char *id);

#endif
