/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REWRITE_DRIVER_H
#define KL_REWRITE_DRIVER_H

#include "contract/surface.h"
#include "model/request.h"
#include "rewrite/dialogue.h"
#include "rewrite/feedback.h"

/*
 * driver - runs a conversation with a model about a kernel, turn by turn.
 *
 * The caller composes a turn, reads the reply and acts on it. The driver counts the turns, takes
 * stored replies from the repository, checks that stored turns are about the same kernel, and
 * writes the kernel into a directory if the model is a command. After an unusable reply it asks
 * again and says why, until too many replies in a row were unusable.
 *
 * All verbs treat failures alike:
 *
 *	the provider fails for a while	the request is repeated after a pause (model/sending.h)
 *	the provider fails for longer	KL_ETIMEOUT, and no turn is stored: a walk counts a rejected
 *					proposal and asks again; any other conversation ends, and
 *					its verb continues without the model
 *	the reply cannot be used	the turn is stored and paid for, the model is told why, and
 *					the dialogue goes on or ends (dialogue.h); never an error
 *	the budget is spent		KL_ENO: the conversation ends
 *	no attempt can succeed		an error that stops the verb: a wrong key, an unknown model
 *
 * A reply cannot be used if its provider cut, refused or did not write it (provider/flaw.h), or if
 * the caller's parser rejects it (kl_driver_accept).
 *
 *	struct kl_driver d = { .repo = repo, .phase = kl_strdup("back-3"), ... };
 *	err = kl_driver_open(&d, &texts);
 *	while (err >= 0 && kl_driver_next(&d)) {
 *		struct kl_driver_turn turn = KL_DRIVER_TURN_INIT;
 *
 *		... set turn.state, turn.values, turn.key for a turn of d.dialogue.kind ...
 *		if (!(err = kl_driver_ask(&reply, &d, &turn)))
 *			err = kl_driver_accept(&d, ... read the reply ...);
 *		if (!err)
 *			... act on it, choose the next turn by dialogue.h, or leave ...
 *	}
 *	kl_driver_release(&d);
 *
 * Stored turns are processed like new ones. The text of a turn depends only on the results of the
 * turns before it, so a run that was killed continues in the same way.
 */
struct kl_driver_turn {
	const struct kl_surface *state; /* the kernel that the turn is about */
	/* exec: the surface to write into the directory; NULL for `state` */
	const struct kl_surface *layout;
	/* feedback on the previous edit, for @EVIDENCE@ and @MEANING@ */
	struct kl_feedback feedback;
	struct kl_strvec features; /* features of the state; feedback.before can point here */
	/* values of the prompt's other placeholders, set by kl_prompt_set() */
	struct kl_map values;
	struct kl_buf key; /* `key` of struct kl_request */
};
#define KL_DRIVER_TURN_INIT                                                                      \
	{                                                                                        \
		.features = KL_STRVEC_INIT, .values = { .free_value = free }, .key = KL_BUF_INIT \
	}

struct kl_driver {
	/* set by the caller; borrowed except for `phase` */
	struct kl_repo *repo;
	struct kl_session *session;
	const char *name;     /* of the conversation */
	char *phase;          /* last part of the conversation's name: "back-3" */
	const char *rewriter; /* "chat" or "exec" */
	/* prompt of each kind (KL_DIALOGUE_END entries); NULL if there is none */
	const char *const *prompt;
	bool single;       /* the dialogue ends after the first usable reply */
	bool edits;        /* exec: files that the command edits count as its reply */
	bool alone;        /* `alone` of struct kl_request */
	const void *about; /* `about` of struct kl_request */
	/* the current turn */
	struct kl_conversation conversation;
	struct kl_dialogue dialogue;
	bool fresh;     /* the turn is not stored */
	char state[13]; /* first digits of the digest of a stored turn's kernel; "" if unknown */
	char *why;      /* why the previous reply was unusable, or NULL */
};

/**
 * Open the conversation; copies the system texts. Errors are those of kl_session_conversation().
 */
int kl_driver_open(struct kl_driver *driver, const struct kl_strvec *texts);
void kl_driver_release(struct kl_driver *driver);

/** Skip `turn` stored turns. Return KL_EINVALID if there are fewer. */
int kl_driver_skip(struct kl_driver *driver, size_t turn);

/**
 * Start the next turn. Return false if the dialogue has ended. If the turn is stored,
 * `dialogue.kind` becomes its stored kind.
 */
bool kl_driver_next(struct kl_driver *driver);

/**
 * Get the reply to the current turn, borrowed; releases `turn`. Return 1 if the reply has a flaw
 * (kl_driver_flaw): the dialogue has then advanced as after an unusable reply. Errors are those of
 * kl_request_send() (KL_ENO if the budget does not allow it), or KL_EEXISTS if the stored turn is
 * about another kernel.
 */
int kl_driver_ask(const char **reply, struct kl_driver *driver, struct kl_driver_turn *turn);

/**
 * Report the result `err` of reading the reply. Return 0 if `err` is 0: the reply is usable. Return
 * 1 for KL_EINVALID or KL_ENO. The error's message then becomes `why`, and the next turn asks again
 * or the dialogue ends. Return any other error.
 */
int kl_driver_accept(struct kl_driver *driver, int err);
/**
 * Append why no caller can use the reply of the stored turn `turn`: its provider cut, refused or
 * did not write it. Return false if the reply has no such flaw.
 */
bool kl_driver_flaw(struct kl_buf *why, const struct kl_driver *driver, size_t turn);
/** Check whether the dialogue ended because of too many unusable replies in a row. */
bool kl_driver_gave_up(const struct kl_driver *driver);

/** Append the user text of the current turn. */
int kl_driver_write(struct kl_buf *out, const struct kl_driver *driver,
		    struct kl_driver_turn *turn);
void kl_driver_turn_release(struct kl_driver_turn *turn);

#endif
