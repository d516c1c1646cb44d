/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REWRITE_DRIVER_H
#define KL_REWRITE_DRIVER_H

#include "contract/surface.h"
#include "model/request.h"
#include "rewrite/dialogue.h"
#include "rewrite/feedback.h"

/*
 * driver - a conversation with a model about a kernel, turn by turn. Its user composes a turn,
 * reads the reply and acts on it; the driver counts the turns, answers stored ones from the
 * repository, checks that they are about the same kernel, lays the kernel out where the model is a
 * command, and sends a reply that cannot be used back with the reason, until too many came in a
 * row.
 *
 *	struct kl_driver d = { .repo = repo, .phase = kl_strdup("back-3"), ... };
 *	err = kl_driver_open(&d, &texts);
 *	while (!err && kl_driver_next(&d)) {
 *		struct kl_driver_turn turn = KL_DRIVER_TURN_INIT;
 *
 *		... set turn.state, turn.values, turn.key for a turn of d.dialogue.kind ...
 *		if ((err = kl_driver_ask(&reply, &d, &turn)) < 0)
 *			break;
 *		err = kl_driver_accept(&d, ... read the reply ...);
 *		if (!err)
 *			... act on it, choose the next turn by dialogue.h, or leave ...
 *	}
 *	kl_driver_release(&d);
 *
 * Stored turns go the same way as new ones, so that a run that was killed comes to the same again:
 * what is composed depends on nothing but what the turns before led to.
 */
struct kl_driver_turn {
	const struct kl_surface *state; /* the kernel that it is about */
	/* exec: what it finds in its directory; NULL: `state` */
	const struct kl_surface *layout;
	struct kl_feedback feedback; /* on the edit of the turn before: EVIDENCE and MEANING */
	struct kl_strvec features;   /* of the state, where feedback.before points to them */
	struct kl_map values;        /* kl_prompt_set: what else the template has a place for */
	struct kl_buf key;           /* struct kl_request */
};
#define KL_DRIVER_TURN_INIT                                                                      \
	{                                                                                        \
		.features = KL_STRVEC_INIT, .values = { .free_value = free }, .key = KL_BUF_INIT \
	}

struct kl_driver {
	/* the user's; borrowed but for `phase` */
	struct kl_repo *repo;
	struct kl_session *session;
	const char *name;          /* of the conversation, */
	char *phase;               /* and its last part, "back-3" */
	const char *rewriter;      /* "chat" or "exec" */
	const char *const *prompt; /* KL_DIALOGUE_END: the template of each kind, or NULL */
	bool edits;                /* exec: files that the command edits count as its reply */
	bool alone;                /* struct kl_request */
	/* the present turn */
	struct kl_conversation conversation;
	struct kl_dialogue dialogue;
	bool fresh;     /* it is not stored */
	char state[13]; /* of a stored one: digest of its kernel, cut; or "" */
	char *why;      /* the reply before it could not be used; or NULL */
};

/** System texts, which are copied. Errors as kl_session_conversation. */
int kl_driver_open(struct kl_driver *driver, const struct kl_strvec *texts);
void kl_driver_release(struct kl_driver *driver);

/** Go on behind `turn` stored turns. KL_EINVALID: there are fewer. */
int kl_driver_skip(struct kl_driver *driver, size_t turn);

/**
 * Start the next turn; false: the dialogue has ended. If the turn is stored, `dialogue.kind`
 * becomes the kind that was asked for then.
 */
bool kl_driver_next(struct kl_driver *driver);

/**
 * The reply to the present turn; borrowed. `turn` is released. As kl_request_send (KL_ENO: the
 * budget does not allow it); KL_EEXISTS: the stored turn is about another kernel.
 */
int kl_driver_ask(const char **reply, struct kl_driver *driver, struct kl_driver_turn *turn);

/**
 * `err` is what reading the reply returned. 0: it can be used. KL_EINVALID, KL_ENO: it cannot; the
 * error becomes `why`, the next turn asks again or the dialogue is at its end, and this returns 1.
 */
int kl_driver_accept(struct kl_driver *driver, int err);
/** Did it end because too many replies in a row could not be used? */
bool kl_driver_gave_up(const struct kl_driver *driver);

/** The user's text of the present turn. */
int kl_driver_write(struct kl_buf *out, const struct kl_driver *driver,
		    struct kl_driver_turn *turn);
void kl_driver_turn_release(struct kl_driver_turn *turn);

#endif
