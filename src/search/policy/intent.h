/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_SEARCH_POLICY_INTENT_H
#define KL_SEARCH_POLICY_INTENT_H

#include <stddef.h>
#include <stdint.h>

#include "text/json.h"

/*
 * intent - says what a policy wants done for one ticket: which roles are asked in which order,
 * which kernel is changed, and what the roles are shown.
 *
 * Strings are not copied; they stay valid as long as the experience does not change. An intent owns
 * its arrays; kl_intent_release() frees them.
 */
enum kl_ticket_kind {
	KL_TICKET_END,  /* the search ends */
	KL_TICKET_SKIP, /* nothing is done; fills up a group of tickets of fixed size */
	KL_TICKET_EDIT, /* at most one candidate is made and judged */
	KL_TICKET_NOTE, /* a note is written, which later tickets can show */
};
#define KL_INTENT_ROLES 3

struct kl_shown {
	const char *as; /* its role in the prompt: "pool", "ancestor", "plan" ... */
	int64_t ticket; /* the ticket whose kernel, result or note is shown */
};

struct kl_intent {
	enum kl_ticket_kind kind;
	/* "large", "diff", a technique ...; NULL if the policy has only one form; borrowed */
	const char *form;
	/* the roles in the order in which they are asked; each is shown the reply before its own */
	const char *role[KL_INTENT_ROLES];
	size_t nrole;
	int64_t parent; /* ticket of the kernel that is changed, or that the note is about */
	int64_t tries;  /* maximum number of candidates to judge: the first and its repairs */
	struct kl_shown *shown; /* what the roles are shown, in this order */
	size_t nshown, alloc;
	json_t *told; /* what the policy itself tells the roles, or NULL for nothing */
};

/** Begin an intent that changes the kernel of `parent`, and ask one role. */
void kl_intent_edit(struct kl_intent *out, const char *role, int64_t parent);
/** Begin a note about the kernel of `parent`, and ask one role. */
void kl_intent_note(struct kl_intent *out, const char *role, int64_t parent);
/** Ask a further role after the others. */
void kl_intent_ask(struct kl_intent *intent, const char *role);
/** Show the kernel, the result or the note of a ticket to the roles. */
void kl_intent_show(struct kl_intent *intent, const char *as, int64_t ticket);
void kl_intent_release(struct kl_intent *intent);
/** Return the intent as JSON; the caller owns it. */
json_t *kl_intent_write(const struct kl_intent *intent);

#endif
