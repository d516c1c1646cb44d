/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REWRITE_REDERIVE_H
#define KL_REWRITE_REDERIVE_H

#include "model/session.h"
#include "rewrite/rewriter.h"

/*
 * rederive - the forward edit of a step, by a model that sees K_{i-1} and not K_i: a
 * conversation of its own ("forward-<step>") with the state, the contract, the action, locus
 * and mechanism to restore, and K_i's time and features.
 *
 * Like a rewriter it has no memory: asked again after a crash it gives the same edit, for the
 * replies are in the repository. Attempt n is turn n of it, but for those of class
 * "timeout", which have none; every one has to be in `attempts` before the next is asked for,
 * also one whose reply could not be used.
 *
 *	while (!(err = kl_rederive_next(&p, &why, &r)) && (p || why))
 *		judge p, if there is one; append {"class", "event"} to the attempts, of a
 *		reply that could not be used {"class":"unusable","event":""}
 */
struct kl_rederive {
	struct kl_repo *repo;
	struct kl_session *session;
	const char *name; /* of the walk */
	/* that led back to K_{i-1}: its distance from K* on the walk */
	int step;
	const char *rewriter;            /* "chat" or "exec": which of them speaks */
	const struct kl_surface *before; /* K_{i-1} */
	int64_t before_ns;               /* its time; 0: none */
	const json_t *record;            /* of the backward step */
	const struct kl_event *goal;     /* of K_i; NULL: not known */
	const json_t *attempts;          /* earlier ones, in order: {"class", "event", ...} */
	/** An event by its id, or NULL. */
	const struct kl_event *(*event)(const char *id, void *payload);
	void *payload;
};

/**
 * The next attempt. `*out` NULL: its reply could not be used and `*why` (owned by the caller) says
 * so; or, `*why` NULL as well, it is over: the model gave up, or all repairs (3) were tried. Errors
 * as kl_request_send.
 */
int kl_rederive_next(struct kl_proposal **out, char **why, const struct kl_rederive *rederive);

/**
 * The second reading of traits: which of `claims` ({"tiled":"yes"}) does a fresh
 * reader of `state` confirm, with lines that exist? `*audited`:
 * {"tiled":{"value":"yes","path":"topk.c","lines":[12,40]}}, owned; a trait that is not confirmed
 * is absent. The reader is told the names of the traits, not what was claimed.
 */
struct kl_trait_reading {
	struct kl_repo *repo;
	struct kl_session *session;
	const char *name, *rewriter; /* as above */
	int step;
	const struct kl_surface *state;
	const json_t *claims;
};
int kl_trait_audit(json_t **audited, const struct kl_trait_reading *reading);

#endif
