/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_SEARCH_POLICY_INTENT_H
#define KL_SEARCH_POLICY_INTENT_H

#include <stddef.h>
#include <stdint.h>

#include "text/json.h"

/*
 * intent - what a policy wants done for one ticket: which roles are asked, in which order, which
 * kernel is changed, and what they are shown.
 *
 * Names of roles, forms and uses are not copied; they stay valid as long as the experience does not
 * change. An intent owns its arrays; kl_intent_release() frees them.
 */
enum kl_ticket_kind {
	KL_TICKET_END,  /* the policy is done */
	KL_TICKET_SKIP, /* the ticket is not needed; a group of tickets has a fixed size */
	KL_TICKET_EDIT, /* makes at most one candidate and has it judged */
	KL_TICKET_NOTE, /* text for later tickets */
};
#define KL_INTENT_ROLES 3

struct kl_shown {
	const char *as; /* why it is shown: "pool", "ancestor", "plan" ... */
	int64_t ticket; /* whose kernel, result or note is shown */
};

struct kl_intent {
	enum kl_ticket_kind kind;
	/* "large", "diff", a technique ...; NULL: the policy has one form only. Borrowed. */
	const char *form;
	/* asked in this order, each with the replies before it */
	const char *role[KL_INTENT_ROLES];
	size_t nrole;
	int64_t parent; /* ticket of the kernel that is changed, or that the note is about */
	int64_t tries;  /* candidates that are judged at most: the first and its repairs */
	struct kl_shown *shown; /* in the order in which they are shown */
	size_t nshown, alloc;
	json_t *told; /* what the policy itself has to say to the roles; NULL: nothing */
};

/** Begin an intent that changes the kernel of `parent`, and ask one role. */
void kl_intent_edit(struct kl_intent *out, const char *role, int64_t parent);
/** Begin a note about the kernel of `parent`, and ask one role. */
void kl_intent_note(struct kl_intent *out, const char *role, int64_t parent);
/** Ask a further role after the others. */
void kl_intent_ask(struct kl_intent *intent, const char *role);
/** Show something of a ticket. */
void kl_intent_show(struct kl_intent *intent, const char *as, int64_t ticket);
void kl_intent_release(struct kl_intent *intent);
/** Return the intent as JSON; the caller owns it. */
json_t *kl_intent_write(const struct kl_intent *intent);

#endif
