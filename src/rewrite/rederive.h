/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REWRITE_REDERIVE_H
#define KL_REWRITE_REDERIVE_H

#include "chat/chat.h"
#include "rewrite/rewriter.h"

/*
 * rederive - the forward edit of a step, by a model that sees K_{i-1} and not K_i: a
 * conversation of its own ("forward-<step>") with the state, the contract, the action, locus
 * and mechanism to restore, and K_i's time and features (DESIGN section 6, item 5).
 *
 * Like a rewriter it has no memory: asked again after a crash it gives the same edit, for the
 * replies are in the repository.
 */
struct kl_rederive {
	struct kl_repo *repo;
	struct kl_chat *chat;
	const char *name;		/* of the walk */
	const char *contract;		/* its text */
	int step;			/* distance from K*, as in the walk: K_i's */
	const struct kl_surface *before;	/* K_{i-1} */
	const json_t *record;		/* of the backward step */
	const json_t *goal;		/* event of K_i */
	const json_t *attempts;		/* earlier ones, in order: {"class", "event", ...} */
	/** An event by its id, or NULL. */
	const json_t *(*event)(const char *id, void *payload);
	void *payload;
};

/**
 * The next attempt. `*out` NULL: the model gave up, or its reply could not be used and `*why` (owned
 * by the caller) says so; that counts as an attempt, too. Errors as kl_talk_ask.
 */
int kl_rederive_next(struct kl_proposal **out, char **why, const struct kl_rederive *r);

/**
 * The second reading of traits (DESIGN section 2): which of `claims` ({"tiled":"yes"}) does a fresh
 * reader of `state` confirm, with lines that exist? `*audited`: {"tiled":{"value":"yes","lines":[12,40]}},
 * owned; a trait that is not confirmed is absent.
 */
int kl_trait_audit(json_t **audited, struct kl_repo *repo, struct kl_chat *chat, const char *name,
		   int step, const struct kl_surface *state, const json_t *claims);

#endif
