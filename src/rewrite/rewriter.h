/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REWRITE_REWRITER_H
#define KL_REWRITE_REWRITER_H

#include "base/map.h"
#include "event/event.h"
#include "jail/jail.h"
#include "model/session.h"
#include "rewrite/proposal.h"
#include "rewrite/reply/envelope.h"

/*
 * rewriter - the rewriters, which propose simplifications of a state: one table, one file each.
 *
 * Rewriters keep no state of their own: their proposals depend only on the current state, the steps
 * and rejections so far, and the proposals that were tried. So an interrupted walk continues with
 * the same proposals.
 *
 *	struct kl_rewrite rw = { .repo = r, .state = s, ... };
 *	kl_rewriters_check("history,passes", ...);
 *	while (!(err = kl_rewrite_next(&p, &stop, &rw, "history,passes")) && p)
 *		judge it; record its id, so that rw.tried() knows it
 *	kl_rewrite_release(&rw);
 *
 * A list names rewriters in the order to try them, separated by commas, some with an argument:
 * "history", "passes", "passes:<dir>", "patches:<dir>", "stepwise", and either "exec" or "chat",
 * which share one conversation (kl_rewriters_model).
 */
struct kl_rewrite {
	struct kl_repo *repo;
	const struct kl_jail *jail;     /* NULL if semantic patches cannot run here */
	const struct kl_surface *state; /* K_i */
	git_oid tree;                   /* the complete tree of K_i's commit */
	git_oid expert;                 /* the commit at which the walk began */
	const char *edit_dir;     /* stepwise: directory to write the state into for editing */
	const json_t *steps;      /* accepted steps: objects with "rewriter" and "source" */
	const json_t *rejections; /* rejected steps, in the same form */
	/**
	 * Returns true if a proposal must not be made: it was judged before, its resulting state
	 * was visited or is known to fail, or (unless `again`) its edit was rejected on another
	 * state. NULL if nothing was tried yet.
	 */
	bool (*tried)(const char *id, const char *surface, const char *edit, bool again,
		      void *payload);
	/** Prints a notice for the user, such as a patch that does not apply. Can be NULL. */
	void (*say)(const char *text, void *payload);
	/*
	 * For chat and exec only. Without `session` they propose nothing: a dry run of a walk must
	 * not spend money.
	 */
	struct kl_session *session;
	const char *name;                       /* name of the walk and of its conversations */
	const struct kl_mechanisms *mechanisms; /* NULL if no mechanism is known */
	const json_t *facts; /* facts of the state: {"features", "traits", "code"}, or NULL */
	int64_t ns;          /* time of the state; 0 if unknown */
	/* when splitting: the facts that made the whole proposal compound, or NULL */
	const char *foreign;
	/*
	 * set by kl_rewrite_next(): a conversation ended at a limit, so the model may have more
	 * steps
	 */
	bool limited;
	/** Returns the event of a record ("event" of a step or a rejection), borrowed, or NULL. */
	const struct kl_event *(*event)(const char *id, void *payload);
	void *payload;
	/** Adds the token digests of states that were visited or are known to fail; can be NULL. */
	void (*known)(struct kl_map *out, void *payload);
	/*
	 * set by kl_rewrite_next(): the numbers of older states that were skipped because they
	 * equal a known state, and of those whose sources are missing or too large; each state is
	 * counted once in a walk
	 */
	size_t skipped, unreadable;
	/* private; `past` and `cache` keep results that are slow to compute */
	bool again; /* second round: also propose edits that were rejected on another state */
	struct kl_past *past;
	struct kl_map cache;
	char cache_of[KL_DIGEST_HEX];
};

void kl_rewrite_release(struct kl_rewrite *rw);

/**
 * Check the rewriters of a list and their arguments; to be called before long work. Return
 * KL_EUSAGE if a name is unknown or an argument is wrong; other errors: the files of an argument
 * cannot be read.
 */
int kl_rewriters_check(const char *list);
/** Return "chat" or "exec" if the list names it, so that a session is needed; else NULL. */
const char *kl_rewriters_model(const char *list);

/**
 * Set *out to the next proposal, owned by the caller; NULL if no rewriter has a proposal. *stop
 * becomes true if stepwise wrote the state into `edit_dir` and waits for an edit
 * (kl_stepwise_collect). Return KL_ENO if the budget does not allow the next request
 * (kl_request_send).
 */
int kl_rewrite_next(struct kl_proposal **out, bool *stop, struct kl_rewrite *rw, const char *list);

/**
 * Set *out to a part of `whole` that was not tried yet: one of several commits that it takes back,
 * or the change of one function or of one file. For a proposal of chat or exec, the model is asked
 * once for a part. NULL: no part is left; judge `whole` instead. Errors are those of
 * kl_rewrite_next().
 */
int kl_rewrite_split(struct kl_proposal **out, struct kl_rewrite *rw,
		     const struct kl_proposal *whole);

/*
 * --- for the rewriters ----------------------------------------------------
 */

/** What the author of a proposal says of it; all members are borrowed. */
struct kl_claim {
	const char *rewriter, *source, *action, *mechanism, *text, *origin;
	const json_t *traits; /* NULL if no claims about traits */
	const char *locus;    /* NULL to compute it from the difference */
	/* of `history`: commits that are undone, newest first, and folded ones; can be NULL */
	const struct kl_strvec *commits, *folded;
};

/**
 * Make a proposal that replaces files of the state by `edit`. *out becomes NULL if nothing changes
 * or the result was tried before.
 */
int kl_rewrite_offer(struct kl_proposal **out, struct kl_rewrite *rw, const struct kl_file *edit,
		     size_t n, const struct kl_claim *claim);
/** Set *out to the first untried part of the change from the state to `whole`, or to NULL. */
int kl_rewrite_part(struct kl_proposal **out, struct kl_rewrite *rw, const struct kl_surface *whole,
		    const struct kl_claim *claim);
/**
 * Check that the locus of a step is in a source of the state and that its mechanism is known.
 * Return KL_EINVALID if the locus or the mechanism is wrong. The message says so to the author of
 * the step.
 */
int kl_rewrite_check_names(const struct kl_rewrite *rw, const struct kl_envelope *envelope);
/**
 * Make a proposal from a step that a model or agent wrote (proposal_from_step.c). Return
 * KL_EINVALID or KL_ENO if an edit does not apply, removed code is only disabled, or the result was
 * tried before. The message tells the author of the step why.
 */
int kl_rewrite_take(struct kl_proposal **out, struct kl_rewrite *rw,
		    const struct kl_envelope *envelope, const char *rewriter, const char *source);
/** Call rw->say() with a formatted text; does nothing if `say` is NULL. */
void kl_rewrite_print(struct kl_rewrite *rw, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/**
 * Read the state's sources from another tree of the repository. Leaves out sources that are not
 * regular files of that tree. The caller frees *edit by kl_edits_free().
 */
int kl_rewrite_read_tree(struct kl_file **edit, size_t *n, const struct kl_rewrite *rw,
			 const git_oid *tree);
void kl_edits_free(struct kl_file *edit, size_t n);
/** Find the source at `path` in the state; NULL if there is none. */
const struct kl_file *kl_rewrite_file(const struct kl_rewrite *rw, const char *path);

int kl_history_propose(struct kl_proposal **out, bool *stop, struct kl_rewrite *rw,
		       const char *arg);
/** Split a proposal of `history` as kl_rewrite_split() does: offer to revert one of its commits. */
int kl_history_split(struct kl_proposal **out, struct kl_rewrite *rw,
		     const struct kl_proposal *whole);
int kl_passes_propose(struct kl_proposal **out, bool *stop, struct kl_rewrite *rw, const char *arg);
int kl_passes_check(const char *arg);
int kl_patches_propose(struct kl_proposal **out, bool *stop, struct kl_rewrite *rw,
		       const char *arg);
int kl_patches_check(const char *arg);
int kl_stepwise_propose(struct kl_proposal **out, bool *stop, struct kl_rewrite *rw,
			const char *arg);
int kl_exec_propose(struct kl_proposal **out, bool *stop, struct kl_rewrite *rw, const char *arg);
/**
 * Check that the stored conversation "back-0" of walk `name`, if there is one, is about `expert`.
 * Return KL_EEXISTS if it is about another kernel, with which a walk of this name began.
 */
int kl_chat_begun(struct kl_repo *repo, const char *name, const struct kl_surface *expert);
int kl_chat_propose(struct kl_proposal **out, bool *stop, struct kl_rewrite *rw, const char *arg);
int kl_chat_split(struct kl_proposal **out, struct kl_rewrite *rw, const struct kl_proposal *whole);

/**
 * Make a proposal from the edited files in `edit_dir`. *out becomes NULL if nothing was changed or
 * the result was tried before. Members of `claim` can be NULL; `origin` is ignored.
 */
int kl_stepwise_collect(struct kl_proposal **out, struct kl_rewrite *rw,
			const struct kl_claim *claim);

#endif
