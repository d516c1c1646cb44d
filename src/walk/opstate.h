/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WALK_OPSTATE_H
#define KL_WALK_OPSTATE_H

#include "base/map.h"
#include "contract/surface.h"
#include "repo/refs.h"
#include "walk/step.h"
#include "walk/walk.h"

/*
 * opstate - an operation in progress, as a commit on refs/klineage/op/<worktree
 * id>: its tree is the state (docs/formats.md, "operation"), its parents keep
 * every commit it needs alive. Each save moves the ref by compare-and-swap, so that
 * after kill -9 the state is the one before or the one after a transition.
 *
 *	state.json	 struct kl_walk
 *	gate.jsonl	 events that wait for the end, one a line, with their "commit"
 *	pending/<source> the files of the pending proposal, or of K_i' that is to be judged
 *	held/<source>	 the files of the held one
 */
struct kl_opstate {
	struct kl_repo *repo; /* borrowed */
	char ref[128];
	git_oid at; /* where the ref stands; zero: not yet created */
	struct kl_walk walk;
	struct kl_buf events;
	struct kl_surface *state;   /* K_i */
	git_oid tree;               /* of K_i, full */
	struct kl_surface *pending; /* NULL: none */
	struct kl_surface *held;
	struct kl_map known; /* `events` by their ids, as far as `known_to` */
	size_t known_to;
	/** A walk that is only thought through (speculate.h): nothing of it is kept. */
	bool dry;
};

void kl_opstate_ref(char ref[128], const struct kl_repo *repo);
/** KL_ENOTFOUND: no operation in this worktree. */
int kl_opstate_load(struct kl_opstate *op, struct kl_repo *repo);
int kl_opstate_save(struct kl_opstate *op, const char *reflog);
void kl_opstate_release(struct kl_opstate *op);

/** A dry copy, of where the walk stands. */
int kl_opstate_copy(struct kl_opstate *out, const struct kl_opstate *op);

/**
 * A commit of the pending files on the tip of the walk, for this step, whose number is set. What
 * was rejected has the last rejection as its second parent, a K_i' (KL_STEP_FORWARD) the last K_j'.
 * No ref moves; in a dry walk `out` is any name.
 */
int kl_opstate_commit(git_oid *out, git_oid *tree, struct kl_opstate *op, struct kl_step *step);

/** K_i of the step that is derived (walk.h): the walk's state before the last step. */
int kl_opstate_goal(struct kl_surface **out, const struct kl_opstate *op);

/** An event of this operation by its id, or NULL; borrowed until the next is appended. */
const struct kl_event *kl_opstate_known(struct kl_opstate *op, const char *id);

/** Append an event for a commit; it gets `commit`, `tree` and, where klineage.sign asks, `sig`. */
int kl_opstate_event(struct kl_opstate *op, struct kl_event *event, const char *commit);

#endif
