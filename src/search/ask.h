/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_SEARCH_ASK_H
#define KL_SEARCH_ASK_H

#include "search/cell.h"

/*
 * ask - asks the roles of a ticket, each in a conversation of its own, "t<ticket>-<role>".
 *
 * The roles that precede the last one give advice, which the next one is shown. The last one makes
 * the edit or writes the note. A reply that cannot be read is refused twice; then the ticket has no
 * candidate. A candidate that fails can be repaired in the same conversation, as often as the
 * intent allows.
 */
struct kl_answer {
	struct kl_surface *to; /* the edited kernel; NULL: there is none */
	char *action, *why;    /* what its author says; or why there is no edit */
	json_t *note;          /* of a note; NULL: none was written */
};
void kl_answer_release(struct kl_answer *answer);

/** The kernel that a ticket is about, and how a repair is judged. */
struct kl_ask {
	const struct kl_cell *cell;
	const struct kl_intent *intent;
	int64_t ticket;
	const struct kl_surface *parent;
	/**
	 * Called for each edit; sets *class_ to the class of its failure, borrowed, or NULL, and
	 * *event to the gate's event, borrowed. Returns an error if there is no verdict.
	 */
	int (*judge)(const char **class_, const struct kl_event **event, struct kl_answer *answer,
		     void *payload);
	void *payload;
};

/**
 * Ask all roles. `out` has the last edit that was judged, or the note. KL_ENO: the budget does not
 * allow a request. Other errors are those of kl_driver_ask() and of judge().
 */
int kl_ask_ticket(struct kl_answer *out, const struct kl_ask *ask);

#endif
