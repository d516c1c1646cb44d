/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_APPLY_CARD_COMMIT_H
#define KL_APPLY_CARD_COMMIT_H

#include "card/card.h"
#include "contract/surface.h"
#include "event/note_writer.h"
#include "gate/gate.h"
#include "repo/refs.h"

/*
 * card_commit - commits the kernel that a card's edit makes, even if the gate refuses it.
 *
 * The parent is the state to which the card was applied; the tree is that
 * state's tree with the changed sources. The trailers name the card, and the note has the gate's
 * event.
 *
 * A chain keeps these commits reachable. It is a ref; each link of it has such a commit as first
 * parent and the previous link as second parent. `git log` without `--first-parent` lists all
 * commits, failed ones included. Commit, link, note and branch become visible in one transaction; a
 * run that is killed before that transaction changes no ref. A link's message records the outcome,
 * so that a killed run can be resumed (materialize_log.h).
 */
/** Why a step is free, that is, made without a card. */
enum kl_free {
	KL_FREE_NOT,         /* the step applies a card */
	KL_FREE_NO_CARD,     /* the author named no card */
	KL_FREE_NOT_OFFERED, /* the author named a card that was not offered */
	KL_FREE_NOT_THERE,   /* the edit lacks what the card that the author named provides */
};
/** Return "no-card" etc., the value of Klineage-Free; NULL if the step applies a card. */
const char *kl_free_name(enum kl_free free);
/** Check whether `word` is a value of Klineage-Free. */
bool kl_free_is(const char *word);

struct kl_card_commit {
	struct kl_repo *repo;
	git_oid parent; /* commit of the state to which the card was applied */
	const struct kl_surface *from, *to;
	const struct kl_card *card; /* NULL if the edit was made without a card */
	enum kl_free free;          /* why it was made without one; KL_FREE_NOT to give no reason */
	const char *blob;           /* id of the card's blob, 40 hex digits */
	/* first line of the message, and text below it; NULL to write them from action and card */
	const char *subject, *text;
	/* how the edit was made: a text from carrier.h, or the model's explanation */
	const char *how;
	/* "card" for a mechanical carrier; "chat" or "exec" for a model; "step" for the worktree */
	const char *rewriter;
	/* the turn that made the edit: "materialize.3"; NULL if no turn did */
	const char *source;
	const char *action, *mechanism; /* NULL to use those of the card */
	int number;                     /* number of steps from the root */
	const char *class_;             /* class of the failure; "" if the kernel is correct */
	/* outcome for the link's message, such as "best"; NULL to write none */
	const char *outcome;
	/* the gate's event; its commit and tree are filled in (event/note_writer.h) */
	struct kl_event *event;
};

/** Write the commit; no ref reaches it yet. `*tree` (may be NULL) is set to its tree. */
int kl_card_commit_write(git_oid *out, git_oid *tree, const struct kl_card_commit *card_commit);
/** Write only the tree of the commit. */
int kl_card_commit_tree(git_oid *out, const struct kl_card_commit *card_commit);

/*
 * Links of a chain, and notes, that are waiting to be written together with other refs.
 *
 *	KL_AUTO(kl_keep_release) struct kl_keep k = { .repo = repo, .chain = chain };
 *	kl_card_commit_write(&oid, NULL, &m); kl_keep_add(&k, &oid, &m);
 *	kl_keep_move(&k, branch, &oid, &was);	or, within another transaction, kl_keep_into(t, &k)
 */
struct kl_keep {
	struct kl_repo *repo;
	const char *chain;  /* ref; borrowed; NULL to write only notes, no links */
	const char *reflog; /* message for kl_keep_move(); NULL for "klineage: a card was tried" */
	struct kl_keep_link {
		git_oid commit;
		char *text;
	} * v;
	size_t n, alloc;
	struct kl_noting noting;
};
void kl_keep_release(struct kl_keep *keep);
/**
 * Add a commit to `keep`, and the event for its note. The event's commit and tree are filled in.
 */
int kl_keep_add(struct kl_keep *keep, const git_oid *commit,
		const struct kl_card_commit *card_commit);
/** Add the root of a run, which was not made by a card, with `text` as the message of its link. */
int kl_keep_root(struct kl_keep *keep, const git_oid *commit, const char *text,
		 struct kl_event *event);
/**
 * Add the updates of the chain and the notes of `payload`, a struct kl_keep, to a transaction.
 * After KL_ECHANGED, call it again for the new transaction.
 */
int kl_keep_into(struct kl_refs_txn *txn, void *payload);
/**
 * Write links and notes in a transaction that also moves `branch` from `was` to `to`. If `branch`
 * is NULL, no branch is moved; if `was` is zero, the branch is created. Return KL_ECHANGED if
 * another process moved the branch, or changed chain or notes before each retry; no ref was
 * changed.
 */
int kl_keep_move(struct kl_keep *keep, const char *branch, const git_oid *to, const git_oid *was);

/**
 * Commit a state that has no commit yet. The commit's parent is `parent`, and its tree is the
 * parent's tree with the state's sources, contract and oracle. The same state on the same parent
 * gives the same commit id. The message says where the state comes from: the oracle, made into a
 * kernel (`reference`, see oracle_kernel.h), or the worktree. Changes no ref.
 */
int kl_card_commit_root(git_oid *out, struct kl_repo *repo, const git_oid *parent,
			const struct kl_surface *surface, bool reference);

/**
 * Judge `surface` and compare it with `parent`, unless `parent` is NULL. A correct kernel whose
 * speed is ambiguous is measured again, at most twice. If `anew` is set, ignore cached verdicts.
 * Return KL_ECANNOT if there is no verdict, because the gate cannot run here or its runner does not
 * answer at once.
 */
int kl_card_commit_judge(struct kl_judgement **out, struct kl_gate *gate,
			 const struct kl_surface *surface, const struct kl_surface *parent,
			 bool anew);

/**
 * Like kl_card_commit_judge(), but return KL_CARD_COMMIT_LATER if the runner judges elsewhere and
 * the job waits in the session (kl_gate_send()); once the result was imported, the same call finds
 * the verdict. A kernel that such a runner measured is not measured again.
 */
int kl_card_commit_try(struct kl_judgement **out, struct kl_gate *gate,
		       const struct kl_surface *surface, const struct kl_surface *parent,
		       bool anew);
#define KL_CARD_COMMIT_LATER 1

/**
 * Return true for the class of a kernel that is correct but refused for another reason: "slower",
 * "no-change", "not-there", "not-faster" ... The verdict in such a kernel's event is "pass".
 */
bool kl_card_commit_is_correct(const char *class_);

/**
 * Set *same if the judged kernel has the same machine code as `surface`. The two then have the same
 * speed, even if measurements differ.
 */
int kl_card_commit_same_code(bool *same, struct kl_gate *gate, const struct kl_judgement *judgement,
			     const struct kl_surface *surface);

/**
 * Return how the kernel's speed compares with that of the event's parent, or KL_SPEED_NONE if the
 * two were not compared. Set *ratio to the ratio of the two speeds.
 */
enum kl_speed kl_card_commit_speed(struct kl_ratio *ratio, const struct kl_event *event);

#endif
