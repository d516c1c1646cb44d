/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_APPLY_CARD_COMMIT_H
#define KL_APPLY_CARD_COMMIT_H

#include "card/card.h"
#include "contract/surface.h"
#include "event/note_writer.h"
#include "gate/gate.h"
#include "repo/refs.h"

/*
 * card_commit - a commit made by applying a card, right or wrong: on top of the state it was tried
 * on, with the full tree of that and the changed sources; its trailers name the card, its note has
 * the gate's event.
 *
 * What keeps it is a chain, a ref of ours: each link has the commit as its first parent and the
 * link before as its second, so `git log --first-parent`-less logs list all, failed ones too.
 * Commit, link, note and branch become visible in one transaction; killed before, nothing has
 * happened. The link's own message tells the outcome, so that a run that was killed can be gone
 * through again (materialize_log.h).
 */
struct kl_card_commit {
	struct kl_repo *repo;
	git_oid parent; /* the state that it was tried on */
	const struct kl_surface *from, *to;
	const struct kl_card *card;     /* NULL: by no card */
	const char *blob;               /* of the card, 40 hex digits */
	const char *how;                /* carrier.h, or what a model said of it */
	const char *rewriter;           /* "card": a tool by the carrier; "chat", "exec" */
	const char *source;             /* the turn: "materialize.3"; NULL: none */
	const char *action, *mechanism; /* NULL: the card's */
	int number;                     /* steps from the root */
	const char *class_;             /* "": correct; else why not */
	const char *outcome;            /* a word for the link: "best"; NULL: none */
	struct kl_event *event;         /* gets commit and tree (event/note_writer.h) */
};

/** The commit alone; nothing keeps it yet. `*tree` (may be NULL) is its tree. */
int kl_card_commit_write(git_oid *out, git_oid *tree, const struct kl_card_commit *card_commit);
/** The tree that it would have. */
int kl_card_commit_tree(git_oid *out, const struct kl_card_commit *card_commit);

/*
 * What keeps commits: links and notes, ready to move with other refs.
 *
 *	KL_AUTO(kl_keep_release) struct kl_keep k = { .repo = repo, .chain = chain };
 *	kl_card_commit_write(&oid, NULL, &m); kl_keep_add(&k, &oid, &m);
 *	kl_keep_move(&k, branch, &oid, &was);	or, within another transaction, kl_keep_into(t, &k)
 */
struct kl_keep {
	struct kl_repo *repo;
	const char *chain; /* ref; borrowed */
	struct kl_keep_link {
		git_oid commit;
		char *text;
	} * v;
	size_t n, alloc;
	struct kl_noting noting;
};
void kl_keep_release(struct kl_keep *keep);
/** `event` of `card_commit` gets commit and tree, and goes into the commit's note. */
int kl_keep_add(struct kl_keep *keep, const git_oid *commit,
		const struct kl_card_commit *card_commit);
/** The same of a commit that is none of ours: the root, with what is to be said of it. */
int kl_keep_root(struct kl_keep *keep, const git_oid *commit, const char *text,
		 struct kl_event *event);
/** Into a transaction; asked again after KL_ECHANGED (`payload` is the keep). */
int kl_keep_into(struct kl_refs_txn *txn, void *payload);
/**
 * By themselves, with `branch` (NULL: none) from `was` (zero: it is made) to `to`. KL_ECHANGED:
 * somebody else moved the branch; nothing was written then.
 */
int kl_keep_move(struct kl_keep *keep, const char *branch, const git_oid *to, const git_oid *was);

/**
 * A commit on `parent` of a state that none has yet: sources, contract and oracle in the parent's
 * tree. The same state on the same commit is the same commit. `reference`: it is the oracle as a
 * kernel (oracle_kernel.h), and says so; else the worktree's. No ref moves.
 */
int kl_card_commit_root(git_oid *out, struct kl_repo *repo, const git_oid *parent,
			const struct kl_surface *surface, bool reference);

/**
 * Judge `surface` against `parent` (NULL: nothing). What is correct and so noisy that its speed is
 * ambiguous is measured anew, twice at most. KL_ECANNOT: there is no verdict here and now.
 */
int kl_card_commit_judge(struct kl_judgement **out, struct kl_gate *gate,
			 const struct kl_surface *surface, const struct kl_surface *parent,
			 bool anew);

/**
 * Is this a class of what the gate found right, and what is refused all the same: "slower",
 * "no-change", "not-there", "not-faster" ...? Its event says "pass".
 */
bool kl_card_commit_is_correct(const char *class_);

/**
 * Is what was judged the same machine code as `surface`? Then it is as fast, whatever a clock says.
 */
int kl_card_commit_same_code(bool *same, struct kl_gate *gate, const struct kl_judgement *judgement,
			     const struct kl_surface *surface);

/** Against what the event calls the parent; NONE: not compared. */
enum kl_speed kl_card_commit_speed(struct kl_card_ratio *ratio, const struct kl_event *event);

#endif
