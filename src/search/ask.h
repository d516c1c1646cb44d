/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_SEARCH_ASK_H
#define KL_SEARCH_ASK_H

#include "search/cell.h"

/*
 * ask - asks the roles of a ticket, each in a conversation of its own, "t<ticket>-<role>".
 *
 * All roles but the last give advice; each role is shown the advice of the role before it. The last
 * role makes the edit or writes the note. If a reply cannot be read, the role is asked again, at
 * most twice; after that the ticket has no candidate. If a candidate fails, its role can repair it
 * in the same conversation, as often as the intent allows.
 */
struct kl_answer {
	struct kl_surface *to; /* the edited kernel, or NULL if there is none */
	char *action, *why;    /* the author's words about the edit; or why there is none */
	json_t *note;          /* the note, or NULL if none was written */
	bool deferred;         /* set by judge(): the verdict on `to` comes later */
};
void kl_answer_release(struct kl_answer *answer);

/** What is asked: a ticket, its intent, and the kernel that it changes. */
struct kl_ask {
	const struct kl_cell *cell;
	const struct kl_intent *intent;
	int64_t ticket;
	const struct kl_surface *parent;
	/**
	 * Judge an edit; kl_ask_ticket() calls this for each edit. Set *class_ to the class of the
	 * failure, or to NULL if the edit did not fail, and *event to the gate's event or to NULL.
	 * The callee keeps both. Set answer->deferred if the verdict comes later: then no repair is
	 * asked for. Return an error if the gate gives no verdict.
	 */
	int (*judge)(const char **class_, const struct kl_event **event, struct kl_answer *answer,
		     void *payload);
	void *payload;
};

/**
 * Ask all roles of a ticket, one after the other. Put the last edit that was judged, or the note,
 * into *out; the caller releases it. Return KL_ENO if the budget does not allow a request, or an
 * error of kl_driver_ask() or judge().
 */
int kl_ask_ticket(struct kl_answer *out, const struct kl_ask *ask);

#endif
