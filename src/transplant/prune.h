/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_TRANSPLANT_PRUNE_H
#define KL_TRANSPLANT_PRUNE_H

#include "transplant/transplant.h"

/*
 * prune - finds a simpler kernel that is not slower than the expert K*, by undoing steps.
 *
 * The search starts with K* and undoes the steps one by one, the step with the least gain at K*
 * first. Each kernel is judged and timed against K* itself, so that small losses cannot add up
 * unseen. A step stays undone if the kernel passes and is not slower than K* by more than the
 * margin (kl_speed_is_within()). When a step was undone, the others are tried again, until none of
 * them can be undone. The resulting kernel is then measured once more, because the best of many
 * noisy comparisons is partly luck. If this does not confirm the kernel, the step undone last is
 * put back, and the kernel is measured again.
 *
 * The result is a lineage of its own: each state is that of the old lineage with the undone steps
 * undone. A state that does not merge, or that the gate refuses, is left out; its step then belongs
 * to the next state.
 */
enum kl_prune_end {
	KL_PRUNE_UNTRIED = 0,
	KL_PRUNE_UNDONE,
	KL_PRUNE_UNMERGED, /* the step does not merge */
	KL_PRUNE_GONE,     /* the current kernel no longer has the step's change */
	KL_PRUNE_FAILS,    /* the kernel without the step is wrong or refused */
	KL_PRUNE_SLOWER,   /* the kernel without the step is slower than the margin allows */
	KL_PRUNE_NOISY,    /* noise hides whether the kernel without the step is slower */
};

/** How the last attempt to undo a step ended. */
struct kl_prune_trial {
	enum kl_prune_end end;
	bool same_code;        /* the kernel without the step has the machine code of K* */
	struct kl_ratio ratio; /* its speed compared with that of K*; ppm is 0 if not known */
	char event[KL_DIGEST_HEX];
	/* the class of the failure, or the reason why the step does not merge; NULL if it passes */
	char *why;
	size_t at;      /* number of steps that were undone before this attempt, plus 1 */
	size_t changes; /* prune->changes at this attempt */
};

struct kl_prune {
	struct kl_prune_trial *trial; /* one for each step, from 1 on */
	size_t *order;                /* all steps, in the order in which they are tried first */
	size_t *undone;               /* the undone steps, in the order in which they were undone */
	size_t nundone;
	size_t changes;            /* number of undone steps that changed the machine code */
	struct kl_surface *kernel; /* the current kernel: K* without the undone steps; owned */
	struct kl_event *event;    /* the kernel against K*; owned, NULL if it is K* */
	bool complete;             /* all steps were tried, and the kernel was confirmed */
	size_t put_back; /* steps that were put back, since the kernel was not confirmed */
	char ref[256];   /* the lineage of the result */
	git_oid tip;
	size_t states; /* number of its states; 0 if none was written */
	bool already;  /* the lineage was there already */
};

struct kl_prune_opts {
	struct kl_transplant_opts judging; /* `step` and `at_expert` are ignored */
	int64_t within_ppm;
	/* name of the new lineage; NULL for the name of the old one, followed by "-pruned" */
	const char *name;
};

/**
 * Prune the expert and write the lineage of the result; none is written if no step can be undone or
 * the deadline passes. Errors are those of kl_transplant_judge(), or KL_EEXISTS if the name belongs
 * to another lineage. Return KL_EUSAGE if the name is invalid.
 */
int kl_prune_run(struct kl_prune *out, struct kl_transplant *transplant, struct kl_repo *repo,
		 const struct kl_prune_opts *opts);
/** Fill in only `order` and `ref`, from known verdicts. Judges nothing. */
int kl_prune_plan(struct kl_prune *out, const struct kl_transplant *transplant,
		  const struct kl_prune_opts *opts);
void kl_prune_release(struct kl_prune *prune);

#endif
