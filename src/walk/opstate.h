/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WALK_OPSTATE_H
#define KL_WALK_OPSTATE_H

#include "base/map.h"
#include "contract/surface.h"
#include "repo/refs.h"
#include "walk/step.h"
#include "walk/walk.h"

/*
 * opstate - an operation in progress, stored as a commit on refs/klineage/op/<worktree id>. Its
 * tree has the files below (docs/formats.md, "operation"); all commits that the operation needs are
 * reachable from its parents. A save moves the ref by compare-and-swap, so that even after kill -9
 * the stored operation is that of the last save.
 *
 *	state.json	 struct kl_walk
 *	gate.jsonl	 events to be noted at the end, one per line, with their "commit"
 *	pending/<source> files of the pending proposal, or of the K_i' to be judged
 *	held/<source>	 files of the held proposal
 */
struct kl_opstate {
	struct kl_repo *repo; /* borrowed */
	char ref[128];
	git_oid at; /* value of the ref; zero if the ref does not exist yet */
	struct kl_walk walk;
	struct kl_buf events;
	struct kl_surface *state;   /* K_i */
	git_oid tree;               /* tree of K_i's commit, with all directories */
	struct kl_surface *pending; /* candidate of the pending proposal; NULL if there is none */
	struct kl_surface *held;    /* candidate of the held proposal; NULL if there is none */
	struct kl_map known;        /* events in the first `known_to` bytes of `events`, by id */
	size_t known_to;
	/** The walk is speculative (speculate.h): it is never saved. */
	bool dry;
};

/** Get the name of the ref of this worktree's operation. */
void kl_opstate_ref(char ref[128], const struct kl_repo *repo);
/** Load this worktree's operation. Return KL_ENOTFOUND if no operation is in progress. */
int kl_opstate_load(struct kl_opstate *op, struct kl_repo *repo);
/**
 * Save the operation; in a dry walk, do nothing. Return KL_EBUSY if another process has moved the
 * ref.
 */
int kl_opstate_save(struct kl_opstate *op, const char *reflog);
void kl_opstate_release(struct kl_opstate *op);

/** Copy the operation without its events, for a speculative walk. `dry` is set in the copy. */
int kl_opstate_copy(struct kl_opstate *out, const struct kl_opstate *op);

/**
 * Commit the pending files on the tip of the walk, with the message of `step`; sets step->number.
 * The second parent, if any, is the previous commit of the same kind: for a rejection the last
 * rejection, for a K_i' (KL_STEP_FORWARD) the last re-derived state. Moves no ref. A dry walk
 * writes no commit and sets *out to the id of the tree.
 */
int kl_opstate_commit(git_oid *out, git_oid *tree, struct kl_opstate *op, struct kl_step *step);

/** Load K_i of the step to re-derive (walk.h): the state of the walk before its last step. */
int kl_opstate_goal(struct kl_surface **out, const struct kl_opstate *op);

/**
 * Find an event of this operation by its id; NULL if there is none. Borrowed until the next event
 * is appended.
 */
const struct kl_event *kl_opstate_known(struct kl_opstate *op, const char *id);

/**
 * Append an event for `commit` (40 digits). Sets the event's `commit` and `tree` and, if
 * klineage.sign is set, its `sig`. In a dry walk, do nothing.
 */
int kl_opstate_event(struct kl_opstate *op, struct kl_event *event, const char *commit);

#endif
