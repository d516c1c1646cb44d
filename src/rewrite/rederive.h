/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REWRITE_REDERIVE_H
#define KL_REWRITE_REDERIVE_H

#include "model/session.h"
#include "rewrite/rewriter.h"

/*
 * rederive - asks a model to derive a step forward without seeing its result K_i.
 *
 * The conversation "forward-<step>" shows the state K_{i-1}, the contract, the action, place and
 * mechanism to restore, and K_i's time and features.
 *
 * Like a rewriter it keeps no state: after a crash it returns the same edit again, because the
 * replies are stored in the repository. Attempt n is turn n of the conversation, not counting
 * attempts of class "timeout", which have no turn. Each attempt, also one with an unusable reply,
 * must be in `attempts` before the next is requested.
 *
 *	while (!(err = kl_rederive_next(&p, &why, &r)) && (p || why))
 *		judge p, if there is one; append {"class", "event"} to the attempts, or, for an
 *		unusable reply, {"class":"unusable","event":""}
 */
struct kl_rederive {
	struct kl_repo *repo;
	struct kl_session *session;
	const char *name; /* of the walk */
	/* number of the backward step that led to K_{i-1}, counted from K* */
	int step;
	const char *rewriter;            /* "chat" or "exec" */
	const struct kl_surface *before; /* K_{i-1} */
	int64_t before_ns;               /* time of K_{i-1}; 0 if unknown */
	const json_t *record;            /* record of the backward step */
	const struct kl_event *goal;     /* event of K_i; NULL if unknown */
	const json_t *attempts;          /* earlier attempts, in order: {"class", "event", ...} */
	/** Returns an event by its id, or NULL. */
	const struct kl_event *(*event)(const char *id, void *payload);
	void *payload;
};

/**
 * Set *out to the next attempt. If *out is NULL and *why is set, the reply was unusable, and *why
 * says why. If both are NULL there is no further attempt: the model gave up, or `attempts` has 4
 * entries, including those of class "timeout". The caller owns both. Errors are those of
 * kl_driver_ask().
 */
int kl_rederive_next(struct kl_proposal **out, char **why, const struct kl_rederive *rederive);

/**
 * An audit of claimed traits: a model reads `state` in a new conversation and is asked which of the
 * traits named in `claims` ({"tiled":"yes"}) it has. The model does not see the claims.
 */
struct kl_trait_reading {
	struct kl_repo *repo;
	struct kl_session *session;
	const char *name, *rewriter; /* as in struct kl_rederive */
	int step;
	const struct kl_surface *state;
	const json_t *claims;
};
/**
 * Run an audit. *audited, owned by the caller, has the confirmed claims, each with its lines:
 * {"tiled":{"value":"yes","path":"topk.c","lines":[12,40]}}. Errors are those of kl_driver_ask().
 */
int kl_trait_audit(json_t **audited, const struct kl_trait_reading *reading);

#endif
