/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_LEARN_WORKTREE_STEP_H
#define KL_LEARN_WORKTREE_STEP_H

#include "apply/card_commit.h"
#include "base/lock.h"
#include "card/library.h"

/*
 * worktree_step - takes an edit that a person or an agent made in the worktree as a step
 * (docs/formats.md, "Steps made by hand"). The kernel in the worktree is judged against the kernel
 * in HEAD. If it is correct and not slower, its sources, and no other files, become a commit on the
 * current branch, with the trailers of a materialized step and the event in its note.
 *
 * The author can claim that the edit applies a card. Then it is a trial of that card, too, whether
 * it passes or fails: a row in the card's `ver`, not isolated, so that it admits nothing. The claim
 * holds only if the facts that the card provides are in the compiled kernel.
 *
 *	err = kl_worktree_step_begin(&step, &opts);	check, take the lock, read both states
 *	if (!err) err = kl_worktree_step_judge(&step, &opts);
 *	if (!err) err = kl_worktree_step_record(&step, &opts);
 *	kl_worktree_step_release(&step);
 *
 * Commit, note, branch, card and trial become visible in one transaction. Before it, the files of
 * the commit are put into the index; a run that is killed in between has staged them and changed
 * nothing else. The worktree is never written.
 */
struct kl_worktree_step {
	struct kl_surface *from, *to; /* the kernel in HEAD and the kernel in the worktree */
	char *branch;                 /* full name of the ref */
	git_oid parent, parent_tree;
	struct kl_strvec changed; /* paths of the sources that differ, from the top */
	struct kl_strvec left;    /* paths of other files that differ from HEAD */
	struct kl_card *card;     /* the claimed card as the library has it, or NULL */
	char blob[KL_OID_HEX];
	struct kl_judgement *judgement;
	enum kl_speed speed;
	struct kl_ratio ratio;
	bool accepted; /* the verdict allows the commit */
	/*
	 * why the verdict does not allow it: a class, or "slower", "not-fast", "not-shown"; "" if
	 * it does
	 */
	char refused[24];
	/* class of the failed trial; "" if the card was reproduced */
	char class_[24];
	char *missing; /* facts that the card provides and the edit lacks, or NULL */
	bool noisy;    /* noise hides the speed, so the trial does not count */
	struct kl_lock lock;
	/* set by kl_worktree_step_record(): */
	git_oid commit; /* zero if nothing was committed */
	int64_t trial;  /* number of the trial of the card on this state; 0 if none was recorded */
	enum kl_level level;
	struct kl_card *after; /* the card with the trial, or NULL */
};

struct kl_worktree_step_opts {
	struct kl_repo *repo;
	struct kl_library *library; /* needed if `card` is set */
	struct kl_gate *gate;
	const char *workload; /* NULL for the contract nearest to the current directory */
	const char *card;     /* id or a unique prefix; NULL for a free step */
	const char *message;  /* NULL to write one from the card or the action */
	/* NULL to use those of the card or, without a card, "edit" and no mechanism */
	const char *action, *mechanism;
	const char *require; /* "fast" or "not-slower"; NULL to refuse only `slow` */
	bool allow_slow;     /* commit a correct kernel even if it is slow */
};

/**
 * Find the edit. Return KL_EINVALID if HEAD is detached; the contract or its oracle differ from
 * HEAD; nothing changed; the card was retracted. Return KL_EBUSY if an operation of git, a walk or
 * another step is in progress here. Return KL_ENOTFOUND if the library has no such card, or HEAD
 * lacks the kernel. Hints say what to do. Other errors are those of kl_select() and
 * kl_checkout_check().
 */
int kl_worktree_step_begin(struct kl_worktree_step *out, const struct kl_worktree_step_opts *opts);
/**
 * Judge the edit against HEAD. Return KL_CARD_COMMIT_LATER if the job waits in the session, from
 * which the caller must send it. Return KL_ECANNOT if the gate cannot judge here.
 */
int kl_worktree_step_judge(struct kl_worktree_step *step, const struct kl_worktree_step_opts *opts);
/**
 * Record the judged edit: commit it if it was accepted, and add the trial to the claimed card.
 * Return KL_ECHANGED if the branch moved while the edit was judged; no ref was changed.
 */
int kl_worktree_step_record(struct kl_worktree_step *step,
			    const struct kl_worktree_step_opts *opts);
void kl_worktree_step_release(struct kl_worktree_step *step);

#endif
