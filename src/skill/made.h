/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_SKILL_MADE_H
#define KL_SKILL_MADE_H

#include "gate/gate.h"
#include "gate/surface.h"
#include "skill/card.h"
#include "text/json.h"

/*
 * made - a commit that a card led to, right or wrong: on top of the state it was tried on, with the full
 * tree of that and the changed sources; its trailers name the card, its note has the gate's event.
 *
 * What keeps it is a chain, a ref of ours: each link has the commit as its first parent and the link
 * before as its second, so `git log --first-parent`-less logs list all, failed ones too. Commit, link,
 * note and branch become visible in one transaction; killed before, nothing has happened.
 */
struct kl_made {
	struct kl_repo *repo;
	git_oid parent;			/* the state that it was tried on */
	const struct kl_surface *from, *to;
	const struct kl_card *card;
	const char *blob;		/* of the card, 40 hex digits */
	const char *how;		/* carrier.h */
	int number;			/* steps from the root */
	const char *class_;		/* "": correct; else why not */
	json_t *event;			/* gets commit and tree (gate/noting.h) */
	const char *chain;		/* ref */
	const char *branch;		/* moves to it; NULL: none does */
	git_oid branch_was;		/* zero: is made */
};

/** KL_ECHANGED: somebody else moved `branch`; nothing was written then. */
int kl_made_put(git_oid *out, const struct kl_made *m);

/**
 * A commit on `parent` of a state that none has yet (the worktree's): sources, contract and oracle in
 * the parent's tree. No ref moves.
 */
int kl_made_root(git_oid *out, struct kl_repo *r, const git_oid *parent, const struct kl_surface *s);

/**
 * Judge `s` against `parent` (NULL: nothing). What is correct and so noisy that its speed is ambiguous is
 * measured anew, twice at most. KL_ECANNOT: there is no verdict here and now.
 */
int kl_made_judge(struct kl_verdict **out, struct kl_gate *g, const struct kl_surface *s,
		  const struct kl_surface *parent, bool anew);

/** "fast", "slow", ... against what the event calls the parent; "": not compared. Borrowed. */
const char *kl_made_speed(struct kl_card_ratio *ratio, const json_t *event);

#endif
