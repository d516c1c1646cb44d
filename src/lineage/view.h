/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_LINEAGE_VIEW_H
#define KL_LINEAGE_VIEW_H

#include "event/event.h"
#include "repo/refs.h"
#include "walk/step.h"

/*
 * view - reads a lineage with its events, to print it: its commits in forward order, each with the
 * results in its gate events. It measures nothing, and does not verify the notes of this clone;
 * fsck does that.
 */
struct kl_view_step {
	git_oid commit;
	git_oid rederived;    /* K_i'; zero: none */
	struct kl_step step;  /* number, action, ...; `text` is the subject */
	int64_t ns;           /* nanoseconds; 0: not profiled */
	struct kl_ratio prev; /* speed against K_{i-1}; ppm 0: unknown */
	struct kl_ratio root; /* speed against K_0, from `prev` of all steps; ppm 0: unknown */
	struct kl_strvec gained, lost; /* features that K_{i-1} lacks, and that only K_{i-1} has */
	enum kl_verdict verdict;       /* OTHER: no event in this clone */
	enum kl_speed speed;           /* against K_{i-1} */
	enum kl_tier tier;
	char baseline[64];    /* name of the baseline; "": none */
	int64_t baseline_ppm; /* speed against the baseline; 0: not timed */
	/* id of the forward event or, if there is none, of the state's newest event; "": none */
	char event[65];
	struct kl_strvec features; /* of the compiled state */
};

struct kl_view {
	char *workload, *name;
	char ref[256];
	struct kl_view_step *step; /* the states; [0] is K_0 */
	size_t n;
	size_t rejected; /* number of backward steps that were rejected */
};

/** Load a lineage. KL_ENOTFOUND: no such lineage in this repository. */
int kl_view_load(struct kl_view *out, struct kl_repo *repo, const char *workload, const char *name);
void kl_view_release(struct kl_view *view);

/**
 * List the lineages of this repository as full ref names, sorted. `what` is NULL (all),
 * "<workload>", "<workload>/<name>" or a full ref name.
 */
int kl_view_list(struct kl_strvec *out, struct kl_repo *repo, const char *what);
/**
 * Report that there is no lineage `what` (KL_ENOTFOUND). Hints list the lineages of other workloads
 * with that name.
 */
int kl_view_none(struct kl_repo *repo, const char *what);
/**
 * Get the event of a commit that the results of a step are taken from. KL_ENOTFOUND: there is none.
 */
int kl_view_event(struct kl_event **out, struct kl_repo *repo, const git_oid *commit);
/**
 * Compare K_i' of a step with K_i. `against` is the speed of K_i' against K_i, or zeros if that was
 * not measured. Returns the reason why it need not be measured, or ""; a constant.
 */
const char *kl_view_rederived(struct kl_ratio *against, struct kl_repo *repo,
			      const struct kl_view_step *step);
/** Format a factor with three digits, which is the precision of a timing: "1.25", "12.3", "312". */
void kl_view_factor(char out[24], double value);
/**
 * Make a JSON object with the members of step `i` that all commands have: number, commit, action,
 * mechanism, derivation.
 */
json_t *kl_view_step_json(const struct kl_view_step *step, size_t i);
/**
 * Split the ref of a lineage into its workload and name, both owned by the caller. KL_EINVALID: it
 * is not such a ref.
 */
int kl_view_split(char **workload, char **name, const char *ref);

/**
 * Find the lineage that `what` names (NULL: the only one). The caller owns both strings.
 * KL_ENOTFOUND: there is none; KL_EUSAGE: there are several, and hints list them.
 */
int kl_view_pick(char **workload, char **name, struct kl_repo *repo, const char *what);

/** One rejected step or, if step.forward is set, one failed attempt to re-derive a step. */
struct kl_view_rejection {
	git_oid commit, on; /* its commit, and the commit of the state that it was tried on */
	struct kl_step step;
};
struct kl_view_rejections {
	struct kl_view_rejection *r;
	size_t n, alloc;
};
/** Load the rejected steps of a lineage, newest first; empty if it has none. */
int kl_view_rejections(struct kl_view_rejections *out, struct kl_repo *repo, const char *workload,
		       const char *name);
void kl_view_rejections_release(struct kl_view_rejections *rejections);

#endif
