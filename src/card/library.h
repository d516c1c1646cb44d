/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CARD_LIBRARY_H
#define KL_CARD_LIBRARY_H

#include "base/map.h"
#include "card/card.h"
#include "event/event.h"
#include "repo/refs.h"

/*
 * library - the cards of a repository, stored on a branch. The branch is refs/heads/klineage/skills
 * or the one that klineage.skillsRef names. Its files are
 *
 *	cards/<id>.yaml			canonical
 *	evidence/<xx>/<id>.json		the cited gate events, so that cards can be checked
 *					in a fork without notes
 *	.gitattributes			sets the merge driver
 *
 * The root commit is the same in every repository (empty tree, fixed identity, date 0), so that
 * `git merge` can merge any two libraries. Each change of a card is one commit: `git log --
 * cards/x.yaml` shows its history. The index and the worktree are not touched.
 *
 *	err = kl_library_open(&lib, repo);
 *	err = kl_library_card(&card, lib, "cp-async-ring-4fd2a1b");
 *	kl_card_add_trial(card, &trial);
 *	change = (struct kl_library_change){ .card = card, .events = &events, ... };
 *	err = kl_library_put(lib, &change);
 *
 * A library is read at one commit. kl_library_put updates the branch by compare-and-swap; if
 * another process has updated the branch meanwhile, the change is merged into the new tip
 * (card_merge.h).
 */
#define KL_LIBRARY_REF "refs/heads/klineage/skills"

struct kl_library;

/** Open the library at the tip of its branch. If there is no branch, the library is empty. */
int kl_library_open(struct kl_library **out, struct kl_repo *repo);
/**
 * Open the library read-only at a commit, such as the tip of a remote's branch or an older commit.
 */
int kl_library_open_at(struct kl_library **out, struct kl_repo *repo, const git_oid *commit);
/** Open a tree with the layout of a library, such as an exported one, read-only. */
int kl_library_open_tree(struct kl_library **out, struct kl_repo *repo, const git_oid *tree);
void kl_library_free(struct kl_library *library);
KL_DEFINE_CLEANUP(struct kl_library *, kl_library_free)

const char *kl_library_ref(const struct kl_library *library);
/**
 * Return the commit and the tree at which the library was read; zero if the library is empty. The
 * commit is also zero after kl_library_open_tree(). The card index (retrieve/index.h) uses the tree
 * as its key.
 */
const git_oid *kl_library_tip(const struct kl_library *library);
const git_oid *kl_library_tree(const struct kl_library *library);

/**
 * Return the number, ids and blobs of the cards, in the order of their file names. Ids are
 * borrowed; a blob's id can be used as a cache key.
 */
size_t kl_library_count(const struct kl_library *library);
const char *kl_library_id(const struct kl_library *library, size_t i);
const git_oid *kl_library_blob(const struct kl_library *library, size_t i);
/**
 * Find the index of a card by its id or by a unique prefix of the id. Return KL_ENOTFOUND if no id
 * begins with `id` (hints list ids that contain it), or several ids do.
 */
int kl_library_find(size_t *out, const struct kl_library *library, const char *id);
int kl_library_card(struct kl_card **out, struct kl_library *library, const char *id);
int kl_library_card_at(struct kl_card **out, struct kl_library *library, size_t i);
/** Append the bytes of a card's file. */
int kl_library_text(struct kl_buf *out, struct kl_library *library, size_t i);

/**
 * Read the library's copy of an event. Return KL_ENOTFOUND if the library has no copy. Return
 * KL_EINVALID if the copy is malformed or has another id.
 */
int kl_library_event(struct kl_event **out, struct kl_library *library, const char *id);

struct kl_library_change {
	const struct kl_card *card; /* the new version; its id names the file */
	/*
	 * The version that `card` was made from. If the library has another version by now, the two
	 * are merged. NULL if `card` was made from the version that the library had when it was
	 * loaded or, with `is_new`, from no version.
	 */
	const struct kl_card *base;
	bool is_new;
	/* id -> struct kl_event *, borrowed; must have the cited events that the library lacks */
	const struct kl_map *events;
	const char *subject; /* subject of the commit: "lift: 2 more transitions" */
	const char *body;    /* body of the commit, or NULL */
	/* another change, to be committed on top of this one in the same ref update; or NULL */
	const struct kl_library_change *then;
	/*
	 * Callback that adds other ref updates to the transaction, or NULL. Each attempt calls only
	 * the callback of the first change.
	 */
	int (*also)(struct kl_refs_txn *t, void *payload);
	void *payload;
};
/**
 * Write one commit per change, update the branch, and leave the library at the last commit. An
 * unchanged card gets no commit, which is not an error; `also` is called even then. Together with a
 * cited event, the events from which it was computed are copied too. After an error, open the
 * library again. Return KL_EINVALID if a cited event is neither in the library nor in `events`.
 * Return KL_EBUSY if the branch is checked out in a worktree. Return KL_ECHANGED if every attempt
 * failed because another process changed a ref first.
 */
int kl_library_put(struct kl_library *library, const struct kl_library_change *change);

/** Write the root commit that all libraries share, and set *out to its id. */
int kl_library_root(git_oid *out, struct kl_repo *repo);

/**
 * Read all events of the clone's notes and the library, except unreadable ones: id -> struct
 * kl_event *, owned.
 */
int kl_library_all_events(struct kl_map *out, struct kl_library *library);

/* --- checking --------------------------------------------------------------------- */

struct kl_library_finding {
	bool error;        /* false: a warning */
	const char *where; /* "cards/x.yaml" */
	const char *what;
};
typedef void kl_library_report(const struct kl_library_finding *f, void *payload);

/**
 * Check every card and its references: check that files are canonical and in their place, that
 * cited events exist and match their ids, that the commits in this clone have the surfaces that
 * their events judged, and that cards named by other cards exist. Sets *cards to the number of
 * cards.
 */
int kl_library_check(size_t *cards, struct kl_library *library, kl_library_report *report,
		     void *payload);

/** Checks single cards of any library against the evidence in this library. */
struct kl_library_checker;
struct kl_library_checker *kl_library_checker_new(struct kl_library *library,
						  kl_library_report *report, void *payload);
void kl_library_checker_free(struct kl_library_checker *checker);
KL_DEFINE_CLEANUP(struct kl_library_checker *, kl_library_checker_free)
void kl_library_checker_card(struct kl_library_checker *checker, const char *where,
			     const struct kl_card *card);
/** Return a valid event that a checked card cites, borrowed; NULL if there is none with this id. */
const struct kl_event *kl_library_checker_event(struct kl_library_checker *checker, const char *id);

#endif
