/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_APPLY_CARD_COMMIT_H
#define KL_APPLY_CARD_COMMIT_H

#include "card/card.h"
#include "contract/surface.h"
#include "event/note_writer.h"
#include "gate/gate.h"
#include "repo/refs.h"

/*
 * card_commit - commits what applying a card to a state made, even if the gate refused it. The
 * parent is the state on which the card was tried; the tree is that state's tree with the changed
 * sources. The trailers name the card, and the note has the gate's event.
 *
 * A chain keeps these commits reachable: a ref whose links each have the commit as first parent and
 * the previous link as second parent. A log without `--first-parent` lists all commits, failed ones
 * included. Commit, link, note and branch become visible in one transaction; a run that is killed
 * earlier changes no ref. A link's message records the outcome, so that a killed run can be
 * replayed (materialize_log.h).
 */
struct kl_card_commit {
	struct kl_repo *repo;
	git_oid parent; /* the state on which it was tried */
	const struct kl_surface *from, *to;
	const struct kl_card *card;     /* NULL: no card was used */
	const char *blob;               /* of the card, 40 hex digits */
	const char *how;                /* from carrier.h, or a model's explanation */
	const char *rewriter;           /* "card": mechanical carrier; "chat", "exec" */
	const char *source;             /* the turn: "materialize.3"; NULL: none */
	const char *action, *mechanism; /* NULL: the card's */
	int number;                     /* steps from the root */
	const char *class_;             /* "": correct; else the failure */
	const char *outcome;            /* word for the link: "best"; NULL: none */
	struct kl_event *event;         /* its commit and tree are set (event/note_writer.h) */
};

/** Write the commit; it is not reachable yet. `*tree` (may be NULL) is set to its tree. */
int kl_card_commit_write(git_oid *out, git_oid *tree, const struct kl_card_commit *card_commit);
/** Write only the tree of the commit. */
int kl_card_commit_tree(git_oid *out, const struct kl_card_commit *card_commit);

/*
 * Links and notes that keep commits reachable, to be written together with other refs.
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
/** Add a commit, and its event for the commit's note; sets the commit and tree of the event. */
int kl_keep_add(struct kl_keep *keep, const git_oid *commit,
		const struct kl_card_commit *card_commit);
/** Add the root, which is not a card's commit, with `text` as the message of its link. */
int kl_keep_root(struct kl_keep *keep, const git_oid *commit, const char *text,
		 struct kl_event *event);
/** Add the changes to a transaction; call again after KL_ECHANGED. `payload` is the keep. */
int kl_keep_into(struct kl_refs_txn *txn, void *payload);
/**
 * Write the links and notes in a transaction of their own, and move `branch` (NULL: none) from
 * `was` (zero: it is created) to `to`. KL_ECHANGED: another process moved the branch, or changed
 * chain or notes at each of the retries; no ref was changed.
 */
int kl_keep_move(struct kl_keep *keep, const char *branch, const git_oid *to, const git_oid *was);

/**
 * Commit a state that has no commit yet on `parent`: the parent's tree with the state's sources,
 * contract and oracle. The same state on the same parent gives the same commit id. `reference`: the
 * state is the oracle as a kernel (oracle_kernel.h), which the message records; else it is the
 * worktree's. Moves no ref.
 */
int kl_card_commit_root(git_oid *out, struct kl_repo *repo, const git_oid *parent,
			const struct kl_surface *surface, bool reference);

/**
 * Judge `surface` against `parent` (NULL: nothing). A correct kernel whose speed is ambiguous is
 * measured again, at most twice. `anew`: ignore known verdicts. KL_ECANNOT: there is no verdict,
 * because the gate cannot run here or its runner does not answer at once.
 */
int kl_card_commit_judge(struct kl_judgement **out, struct kl_gate *gate,
			 const struct kl_surface *surface, const struct kl_surface *parent,
			 bool anew);

/**
 * True for the classes of kernels that are correct but refused: "slower", "no-change",
 * "not-there", "not-faster" ... The verdict of their events is "pass".
 */
bool kl_card_commit_is_correct(const char *class_);

/**
 * Set *same if the judged kernel has the same machine code as `surface`, and hence the same speed
 * whatever was measured.
 */
int kl_card_commit_same_code(bool *same, struct kl_gate *gate, const struct kl_judgement *judgement,
			     const struct kl_surface *surface);

/** Speed of the kernel against the event's parent; KL_SPEED_NONE: it was not compared. */
enum kl_speed kl_card_commit_speed(struct kl_ratio *ratio, const struct kl_event *event);

#endif
