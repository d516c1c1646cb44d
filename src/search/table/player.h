/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_SEARCH_TABLE_PLAYER_H
#define KL_SEARCH_TABLE_PLAYER_H

#include "search/table/skill.h"
#include "search/table/table.h"

/*
 * player - a simulated model: it answers what a search asks with edits that lead to states of a
 * table, as provider `table`.
 *
 * It is told beside each request which role is asked, which kernel is changed and what is shown, and
 * never reads the text of the request. Its replies have the form that every model's have, so that
 * the same parser reads them. Its choices are random draws with the probabilities of its skill
 * (skill.h). The draws follow from the key of the search, the ticket and the number of the request,
 * so the same request always gets the same answer.
 */
struct kl_player {
	const struct kl_search_table *table;
	const struct kl_surface *base; /* with the contract of the table */
	const struct kl_skill *skill;
};

/* something that a role is shown */
struct kl_player_shown {
	const char *as;     /* "plan", "rule", "pool" ..., as in struct kl_shown */
	int64_t ticket;     /* which made it */
	const char *class_; /* of a kernel that fails, else NULL */
	const json_t *note; /* of a note, else NULL */
};

/* what a request is about: `about` of struct kl_request */
struct kl_player_about {
	const char *key; /* of the search */
	int64_t ticket;
	size_t turn; /* number of the request in its conversation */
	const char *role;
	bool edits;         /* an edit is asked for; else a note */
	const char *form;   /* of the intent, or NULL */
	const char *parent; /* digest of the kernel that is changed */
	const char *failed; /* in a repair: class of the failure of the last edit; else NULL */
	const json_t *told; /* what the policy tells, or NULL */
	struct kl_player_shown *shown;
	size_t nshown;
};

/**
 * Make a reply; the caller frees *text. KL_ECANNOT: the table lacks the kernel that is to be changed.
 */
int kl_player_answer(char **text, const struct kl_player *player,
		     const struct kl_player_about *about);
/** As kl_player_answer(), for struct kl_session_opts; `payload` is the player. */
int kl_player_called(char **text, const void *about, void *payload);
/** Append a reply that turns the sources of one surface into those of another. */
void kl_player_step(struct kl_buf *out, const char *action, const char *mechanism, const char *why,
		    const struct kl_surface *from, const struct kl_surface *to);

#endif
