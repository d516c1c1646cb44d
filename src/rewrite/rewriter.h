/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REWRITE_REWRITER_H
#define KL_REWRITE_REWRITER_H

#include "base/map.h"
#include "event/event.h"
#include "jail/jail.h"
#include "model/session.h"
#include "rewrite/envelope.h"
#include "rewrite/proposal.h"

/*
 * rewriter - the rewriters, which propose simplifications of a state: one table, one file each. A
 * rewriter has no memory of its own: what it may propose follows from the state, from the steps
 * and rejections so far, and from what has been tried, so that an interrupted walk goes on with
 * the same proposals.
 *
 *	struct kl_rewrite rw = { .repo = r, .state = s, ... };
 *	kl_rewriters_check("history,passes", ...);
 *	while (!(err = kl_rewrite_next(&p, &stop, &rw, "history,passes")) && p)
 *		judge it; add its id to what has been tried
 *	kl_rewrite_release(&rw);
 *
 * A list names rewriters cheapest first, comma-separated, each with an
 * optional argument: "history", "passes", "passes:<dir>", "patches:<dir>", "stepwise",
 * "exec" or "chat" (one of these two: it is the same conversation, kl_rewriters_model).
 */
struct kl_rewrite {
	struct kl_repo *repo;
	const struct kl_jail *jail;     /* NULL: semantic patches cannot run here */
	const struct kl_surface *state; /* K_i */
	git_oid tree;                   /* K_i as a full tree */
	git_oid expert;                 /* the commit the walk began at */
	const char *edit_dir;           /* stepwise: where the state is put for editing */
	const json_t *steps;            /* accepted: array of objects with "rewriter", "source" */
	const json_t *rejections;       /* likewise */
	/**
	 * Was this judged before, or is the state it leads to known (visited, or
	 * failed)? Unless `again`, an edit that was rejected on another state counts, too.
	 */
	bool (*tried)(const char *id, const char *surface, const char *edit, bool again,
		      void *payload);
	/** Something a person should know: a patch that does not apply. May be NULL. */
	void (*say)(const char *text, void *payload);
	/*
	 * Of chat and exec alone. Without `session` they have nothing to say: so it is where a walk
	 * is only thought through, for a thought is not worth money.
	 */
	struct kl_session *session;
	const char *name;                       /* of the walk, and of its conversations */
	const struct kl_mechanisms *mechanisms; /* NULL: none known */
	const json_t *facts; /* of the state: {"features", "traits", "code"}, or NULL */
	int64_t ns;          /* its time; 0: none */
	const char *foreign; /* of the held proposal: why it is compound; or NULL */
	/* set: a conversation ended at a limit, with something left */
	bool limited;
	/** The event of a record ("event" of a step or a rejection), or NULL; borrowed. */
	const struct kl_event *(*event)(const char *id, void *payload);
	void *payload;
	/* private: what would be dear to compute twice */
	bool again; /* the second round: what was put off in the first */
	struct kl_history *history;
	struct kl_map cache;
	char cache_of[KL_DIGEST_HEX];
};

void kl_rewrite_release(struct kl_rewrite *rw);

/** Are all names known, and their arguments there and well-formed? Call before long work. */
int kl_rewriters_check(const char *list);
/** "chat" or "exec" if the list names one, for which `chat` has to be opened; else NULL. */
const char *kl_rewriters_model(const char *list);

/**
 * The next proposal, or NULL when none of the list has one. `*stop`: a
 * rewriter put the state into `edit_dir` and waits for a person (kl_stepwise_collect).
 * KL_ENO: the budget does not allow the next question (kl_request_send).
 */
int kl_rewrite_next(struct kl_proposal **out, bool *stop, struct kl_rewrite *rw, const char *list);

/**
 * A smaller part of `whole` that was not tried yet: the change of one function,
 * or of one file; of a proposal of chat or exec what its author makes of it, asked once.
 * NULL: there is none, `whole` stands as it is. Errors as kl_rewrite_next.
 */
int kl_rewrite_split(struct kl_proposal **out, struct kl_rewrite *rw,
		     const struct kl_proposal *whole);

/* --- for the rewriters themselves ----------------------------------------- */

/** What a proposal says of itself; all borrowed. */
struct kl_claim {
	const char *rewriter, *source, *action, *mechanism, *text, *origin;
	const json_t *traits; /* NULL: none */
	const char *locus;    /* NULL: from the difference */
};

/**
 * Make a proposal from replaced files; `*out` stays NULL when they change
 * nothing or have been tried.
 */
int kl_rewrite_offer(struct kl_proposal **out, struct kl_rewrite *rw, const struct kl_file *edit,
		     size_t n, const struct kl_claim *claim);
/** The first untried part of the change from the state to `whole`: see kl_rewrite_split. */
int kl_rewrite_part(struct kl_proposal **out, struct kl_rewrite *rw, const struct kl_surface *whole,
		    const struct kl_claim *claim);
/**
 * Does a step name a source of the state, and a known mechanism? KL_EINVALID: a sentence for its
 * author.
 */
int kl_rewrite_check_names(const struct kl_rewrite *rw, const struct kl_envelope *envelope);
/**
 * Make a proposal of a step that somebody wrote (proposal_from_step.c): its edits apply, leave
 * nothing asleep, and lead
 * somewhere new. KL_EINVALID, KL_ENO: likewise.
 */
int kl_rewrite_take(struct kl_proposal **out, struct kl_rewrite *rw,
		    const struct kl_envelope *envelope, const char *rewriter, const char *source);
void kl_rewrite_print(struct kl_rewrite *rw, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/**
 * The sources of the state as they are in a tree below `dir`: `*edit` and its
 * texts are the caller's (kl_edits_free); sources that the tree lacks are left out.
 */
int kl_rewrite_read_tree(struct kl_file **edit, size_t *n, const struct kl_rewrite *rw,
			 const git_oid *tree);
void kl_edits_free(struct kl_file *edit, size_t n);
/** The state's own file at `path`, or NULL. */
const struct kl_file *kl_rewrite_file(const struct kl_rewrite *rw, const char *path);

int kl_history_propose(struct kl_proposal **out, bool *stop, struct kl_rewrite *rw,
		       const char *arg);
void kl_history_free(struct kl_history *history);
int kl_passes_propose(struct kl_proposal **out, bool *stop, struct kl_rewrite *rw, const char *arg);
int kl_passes_check(const char *arg);
int kl_patches_propose(struct kl_proposal **out, bool *stop, struct kl_rewrite *rw,
		       const char *arg);
int kl_patches_check(const char *arg);
int kl_stepwise_propose(struct kl_proposal **out, bool *stop, struct kl_rewrite *rw,
			const char *arg);
int kl_exec_propose(struct kl_proposal **out, bool *stop, struct kl_rewrite *rw, const char *arg);
/** KL_EEXISTS: the walk's first conversation is stored, and about another state than this. */
int kl_chat_begun(struct kl_repo *repo, const char *name, const struct kl_surface *expert);
int kl_chat_propose(struct kl_proposal **out, bool *stop, struct kl_rewrite *rw, const char *arg);
int kl_chat_split(struct kl_proposal **out, struct kl_rewrite *rw, const struct kl_proposal *whole);

/**
 * What a person made of the state in `edit_dir`: `*out` is NULL when nothing
 * was changed. `claim` may leave action, mechanism, text and locus NULL.
 */
int kl_stepwise_collect(struct kl_proposal **out, struct kl_rewrite *rw,
			const struct kl_claim *claim);

#endif
