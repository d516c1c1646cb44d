/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CARD_LIBRARY_H
#define KL_CARD_LIBRARY_H

#include "base/map.h"
#include "card/card.h"
#include "event/event.h"
#include "repo/refs.h"

/*
 * library - the branch of cards in a repository: refs/heads/klineage/skills, or
 * klineage.skillsRef, with
 *
 *	cards/<id>.yaml			canonical
 *	evidence/<xx>/<id>.json		the cited gate events, so that a fork verifies without notes
 *	.gitattributes			names the merge driver
 *
 * Its root commit is the same in every repository (empty tree, fixed identity, date 0), so any two
 * libraries merge by plain `git merge`. One card change is one commit: `git log -- cards/x.yaml` is
 * the card's life. Nothing here touches index or worktree.
 *
 *	err = kl_library_open(&lib, repo);
 *	err = kl_library_card(&card, lib, "cp-async-ring-4fd2a1b");
 *	kl_card_add_trial(card, &trial);
 *	err = kl_library_put(lib, &(struct kl_library_change){ .card = card, .events = &events, ... });
 *
 * A library is read at one commit; _put moves the branch by compare-and-swap, and on a lost race
 * merges its change (card_merge.h) into what the other one wrote.
 */
#define KL_LIBRARY_REF "refs/heads/klineage/skills"

struct kl_library;

/** A library without a branch is empty, no error. */
int kl_library_open(struct kl_library **out, struct kl_repo *repo);
/** At a commit (a remote's branch, an older state); _put is refused. */
int kl_library_open_at(struct kl_library **out, struct kl_repo *repo, const git_oid *commit);
/** At a tree in the form of a library's, like an exported one; _put is refused. */
int kl_library_open_tree(struct kl_library **out, struct kl_repo *repo, const git_oid *tree);
void kl_library_free(struct kl_library *library);
KL_DEFINE_CLEANUP(struct kl_library *, kl_library_free)

const char *kl_library_ref(const struct kl_library *library);
/** Commit and tree that it is read at; zero: empty. The tree is what an index is keyed by. */
const git_oid *kl_library_tip(const struct kl_library *library);
const git_oid *kl_library_tree(const struct kl_library *library);

/** Cards in the order of their file names; an id is borrowed, the blob is for caches. */
size_t kl_library_count(const struct kl_library *library);
const char *kl_library_id(const struct kl_library *library, size_t i);
const git_oid *kl_library_blob(const struct kl_library *library, size_t i);
/** KL_ENOTFOUND with near names as hints; an unambiguous beginning of an id will do. */
int kl_library_find(size_t *out, const struct kl_library *library, const char *id);
int kl_library_card(struct kl_card **out, struct kl_library *library, const char *id);
int kl_library_card_at(struct kl_card **out, struct kl_library *library, size_t i);
/** The bytes of a card. */
int kl_library_text(struct kl_buf *out, struct kl_library *library, size_t i);

/** A copied event, its id recomputed. KL_ENOTFOUND, KL_EINVALID. */
int kl_library_event(struct kl_event **out, struct kl_library *library, const char *id);

struct kl_library_change {
	const struct kl_card *card; /* as it shall be; its id names the file */
	/*
	 * What `card` was made from, if that was read long ago: whatever the library has by now is
	 * merged. NULL: from what this library has, as it is read; or, with `is_new`, from nothing.
	 */
	const struct kl_card *base;
	bool is_new;
	/** id -> struct kl_event *, borrowed: copied if cited and not there yet */
	const struct kl_map *events;
	const char *subject; /* of the commit: "lift: 2 more transitions" */
	const char *body;    /* NULL: none */
	/* a commit more in the same move; NULL: that is all */
	const struct kl_library_change *then;
	/*
	 * of the first: what else moves in that transaction; asked for each time that it is tried
	 */
	int (*also)(struct kl_refs_txn *t, void *payload);
	void *payload;
};
/**
 * One commit for each change; the library is then read at the last. Nothing to write is no error
 * and no commit (`also` is done all the same). After a failure open it again. KL_EINVALID: an event
 * that the card cites is neither in the library nor in `events`. Cited events bring the events that
 * they cite themselves.
 */
int kl_library_put(struct kl_library *library, const struct kl_library_change *change);

/** The root commit every library begins with, written if need be. */
int kl_library_root(git_oid *out, struct kl_repo *repo);

/** Every event (id -> struct kl_event *, owned) that notes of this clone and the library have. */
int kl_library_all_events(struct kl_map *out, struct kl_library *library);

/* --- checking --------------------------------------------------------------------- */

struct kl_library_finding {
	bool error;        /* else a warning */
	const char *where; /* "cards/x.yaml" */
	const char *what;
};
typedef void kl_library_report(const struct kl_library_finding *f, void *payload);

/**
 * Follow everything that the cards refer to: files where they belong, canonical, events there and
 * true to their ids, commits (where this clone has them) with the surface that their events judged,
 * cards that other cards name. Counts the cards.
 */
int kl_library_check(size_t *cards, struct kl_library *library, kl_library_report *report,
		     void *payload);

/** The same card by card, for cards of any origin whose evidence this library is said to have. */
struct kl_library_checker;
struct kl_library_checker *kl_library_checker_new(struct kl_library *library,
						  kl_library_report *report, void *payload);
void kl_library_checker_free(struct kl_library_checker *checker);
KL_DEFINE_CLEANUP(struct kl_library_checker *, kl_library_checker_free)
void kl_library_checker_card(struct kl_library_checker *checker, const char *where,
			     const struct kl_card *card);
/** An event as it was found, borrowed; NULL: it was not, or is not true to its id. */
const struct kl_event *kl_library_checker_event(struct kl_library_checker *checker, const char *id);

#endif
