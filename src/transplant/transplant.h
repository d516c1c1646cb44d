/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_TRANSPLANT_TRANSPLANT_H
#define KL_TRANSPLANT_TRANSPLANT_H

#include "base/progress.h"
#include "event/judgement.h"
#include "lineage/view.h"

/*
 * transplant - tries each step of a lineage at other states than its own. A lineage measures each
 * step once, at one place of one order. Here step i is merged (step_merge.h) into every state K_j
 * before its own place and undone at every state K_j from K_i on; the kernels that a merge makes
 * are judged against K_j. So the table of a lineage of n steps has a cell for each step and state:
 *
 *	j < i - 1	K_j with step i put in
 *	j = i - 1	K_i itself, judged against K_{i-1}: the step at its own place
 *	j >= i		K_j with step i undone; j = i is K_{i-1} itself
 *
 * All cells are merged, which is cheap. These cells are judged: each step at its own place, each
 * step undone at K*, and each step put in. A step undone at a state before K* is judged only if
 * this shows which later step needs the step (relations.h).
 *
 * Verdicts are kept as gate events (transplant_log.h), so that readers judge nothing.
 */
enum kl_cell_state {
	KL_CELL_UNMERGED = 1, /* the step does not merge */
	KL_CELL_NO_CHANGE,    /* merging changes no source, as the state has the change already */
	KL_CELL_OPEN,         /* the step merges; the kernel was not judged */
	KL_CELL_JUDGED,
};

struct kl_transplant_cell {
	enum kl_cell_state state;
	char *why;                  /* why the step does not merge, for KL_CELL_UNMERGED */
	char digest[KL_DIGEST_HEX]; /* digest of the merged surface; "" if not merged */
	struct kl_event *event;     /* owned; NULL if not judged */
	git_oid commit;             /* the judged kernel; zero if not recorded */
	bool asked;                 /* the gate was asked in this run */
};

struct kl_transplant {
	struct kl_view view;
	char ref[256];                   /* the chain of judged kernels (transplant_log.h) */
	struct kl_surface **state;       /* K_0 ... K*; view.n of them */
	struct kl_transplant_cell *cell; /* kl_transplant_at() */
	struct kl_event *root;           /* K_0 judged alone; NULL if it was not needed yet */
	/* numbers of verdicts that were reached now, that were known, and that come later */
	size_t judged, known, waiting;
	bool late; /* the deadline passed before all cells were judged */
};

/**
 * Load a lineage, merge each step into each state, and read the verdicts of earlier runs. Nothing
 * is judged. The caller releases *out. Return KL_ENO if the lineage has only one state and so no
 * step.
 */
int kl_transplant_load(struct kl_transplant *out, struct kl_repo *repo, const char *workload,
		       const char *name);
void kl_transplant_release(struct kl_transplant *transplant);

/** Return the cell of step `step` (1 ... n) at K_`place` (0 ... n). */
struct kl_transplant_cell *kl_transplant_at(const struct kl_transplant *transplant, size_t step,
					    size_t place);
/** Return the number n of steps. */
size_t kl_transplant_steps(const struct kl_transplant *transplant);
/** Make the kernel of a cell; the caller frees *out. Errors are those of kl_step_merge(). */
int kl_transplant_merge(struct kl_surface **out, struct kl_repo *repo,
			const struct kl_transplant *transplant, size_t step, size_t place);

struct kl_transplant_opts {
	/** Judge a kernel, as kl_gate_judge() does. `parent` may be NULL. */
	int (*judge)(struct kl_judgement **out, const struct kl_surface *candidate,
		     const struct kl_surface *parent, void *payload);
	/**
	 * Judge a kernel again and ignore known verdicts, as kl_gate_judge_anew() does. If the
	 * function is NULL, kernels with ambiguous speeds are not measured again.
	 */
	int (*judge_anew)(struct kl_judgement **out, const struct kl_surface *candidate,
			  const struct kl_surface *parent, void *payload);
	/**
	 * Return true if `judge_anew` asked for this event, so that the kernel was measured twice.
	 * The function is needed only if verdicts come later; it is NULL if they come at once.
	 */
	bool (*is_again)(const struct kl_event *event, void *payload);
	void *payload;
	struct kl_progress *progress; /* borrowed, or NULL */
	int64_t deadline_ns;          /* on the clock of kl_clock_ns(); 0 if there is none */
	size_t step;                  /* judge only this step; 0 for all steps */
	bool at_expert;               /* judge only K* and the steps undone at K* */
	int sign;                     /* as in struct kl_noting */
};

/**
 * Judge the cells that are not judged yet, those at K* first, until the deadline. Each verdict is
 * kept as soon as it is reached. Return KL_ENO if K* fails now. The message says how. Return
 * KL_ECANNOT if kernels cannot be judged here. Return KL_EBUSY if another process transplants this
 * lineage.
 */
int kl_transplant_judge(struct kl_transplant *transplant, struct kl_repo *repo,
			const struct kl_transplant_opts *opts);

/** Prepare for another wave (gate/wave.h): ask for all cells again, and count from zero. */
void kl_transplant_forget(struct kl_transplant *transplant);

/** What the verdict of a cell says about its kernel. */
enum kl_cell_finding {
	KL_CELL_UNKNOWN = 0, /* not judged, inconclusive or not merged */
	KL_CELL_FAILS,       /* the kernel is wrong or is refused */
	KL_CELL_PASSES,
	KL_CELL_SAME_CODE, /* its machine code is that of K_j, so it has the speed of K_j */
};
enum kl_cell_finding kl_transplant_finding(const struct kl_transplant_cell *cell);

/**
 * Get the gain of a step at a state: the speed of the kernel with the step divided by the speed of
 * the kernel without it. `*out` has no interval if the gain is not known. At K* it is that of
 * undoing the step.
 */
void kl_transplant_gain(struct kl_comparison *out, const struct kl_transplant *transplant,
			size_t step, size_t place);
/**
 * Return true if the step is shown to gain nothing at K*, that is, if the kernel without the step
 * passes and is slower by at most `within_ppm` (kl_speed_is_within()).
 */
bool kl_transplant_is_idle(const struct kl_transplant *transplant, size_t step, int64_t within_ppm);

#endif
