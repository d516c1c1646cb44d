/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_LINEAGE_OPSTATE_H
#define KL_LINEAGE_OPSTATE_H

#include "gate/surface.h"
#include "lineage/walk.h"
#include "repo/refs.h"

/*
 * opstate - an operation in progress, as a commit on refs/klineage/op/<worktree
 * id>: its tree is the state (docs/formats.md, "operation"), its parents keep
 * every commit it needs alive. Each save moves the ref by compare-and-swap, so that
 * after kill -9 the state is the one before or the one after a transition.
 *
 *	state.json	 struct kl_walk
 *	gate.jsonl	 events that wait for the end, one a line, with their "commit"
 *	pending/<source> the files of the pending proposal
 *	held/<source>	 the files of the held one
 */
struct kl_opstate {
	struct kl_repo *repo;		/* borrowed */
	char ref[128];
	git_oid at;			/* where the ref stands; zero: not yet created */
	struct kl_walk walk;
	struct kl_buf events;
	struct kl_surface *state;	/* K_i */
	git_oid tree;			/* of K_i, full */
	struct kl_surface *pending;	/* NULL: none */
	struct kl_surface *held;
	/** A walk that is only thought through (speculate.h): nothing of it is kept. */
	bool dry;
};

void kl_opstate_ref(char ref[128], const struct kl_repo *r);
/** KL_ENOTFOUND: no operation in this worktree. */
int kl_opstate_load(struct kl_opstate *op, struct kl_repo *r);
int kl_opstate_save(struct kl_opstate *op, const char *reflog);
void kl_opstate_release(struct kl_opstate *op);

/** A dry copy, of where the walk stands. */
int kl_opstate_copy(struct kl_opstate *out, const struct kl_opstate *op);

/** Append an event for a commit; `event` gets "commit" and "tree". */
int kl_opstate_event(struct kl_opstate *op, json_t *event, const char *commit);

#endif
