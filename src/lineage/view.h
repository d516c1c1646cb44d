/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_LINEAGE_VIEW_H
#define KL_LINEAGE_VIEW_H

#include "event/event.h"
#include "repo/refs.h"
#include "walk/step.h"

/*
 * view - a lineage with its events, ready to print: its commits in forward order, each with the
 * results in its gate events. Measures nothing and trusts the notes of this clone; fsck verifies
 * them.
 */
struct kl_view_step {
	git_oid commit;
	git_oid rederived;             /* K_i'; zero: none */
	struct kl_step step;           /* number, action, ...; `text` is the subject */
	int64_t ns;                    /* 0: not profiled */
	struct kl_ratio prev;          /* against K_{i-1} */
	struct kl_ratio root;          /* against K_0, chained over the steps; ppm 0: unknown */
	struct kl_strvec gained, lost; /* features, against K_{i-1} */
	enum kl_verdict verdict;       /* OTHER: no event in this clone */
	enum kl_speed speed;           /* against K_{i-1} */
	enum kl_tier tier;
	char baseline[64]; /* name; "": none */
	int64_t baseline_ppm;
	char event[65];            /* id of the forward event, else of the state's own; "": none */
	struct kl_strvec features; /* of the compiled state */
};

struct kl_view {
	char *workload, *name;
	char ref[256];
	struct kl_view_step *step; /* [0] is K_0 */
	size_t n;
	size_t rejected; /* backward steps on the rejected ref */
};

/** KL_ENOTFOUND: no such lineage in this repository. */
int kl_view_load(struct kl_view *out, struct kl_repo *repo, const char *workload, const char *name);
void kl_view_release(struct kl_view *view);

/**
 * List the lineages of this repository: full ref names, sorted. `what` is NULL (all),
 * "<workload>", "<workload>/<name>" or a full ref.
 */
int kl_view_list(struct kl_strvec *out, struct kl_repo *repo, const char *what);
/** Report the unknown lineage `what` (KL_ENOTFOUND); hints list the lineages with that name. */
int kl_view_none(struct kl_repo *repo, const char *what);
/** Get the event from which a step's figures are taken. KL_ENOTFOUND: there is none. */
int kl_view_event(struct kl_event **out, struct kl_repo *repo, const git_oid *commit);
/**
 * Compare a step's K_i' with K_i: `against` is its speed if it was measured (else zeros). Returns
 * in words why it need not be measured, or ""; a constant.
 */
const char *kl_view_rederived(struct kl_ratio *against, struct kl_repo *repo,
			      const struct kl_view_step *step);
/** Format a factor with three digits, the precision of a timing: "1.25", "12.3", "312". */
void kl_view_factor(char out[24], double value);
/**
 * The JSON members common to all verbs for step `i`: number, commit, action, mechanism, derivation.
 */
json_t *kl_view_step_json(const struct kl_view_step *step, size_t i);
/** Split a lineage ref into its workload and name, both owned by the caller, or KL_EINVALID. */
int kl_view_split(char **workload, char **name, const char *ref);

/**
 * Find the lineage named by `what` (NULL: the only one); the caller owns both strings.
 * KL_ENOTFOUND: there is none; KL_EUSAGE: there are several, and hints list them.
 */
int kl_view_pick(char **workload, char **name, struct kl_repo *repo, const char *what);

/** One rejected step, or a failed attempt to re-derive one (step.forward). */
struct kl_view_rejection {
	git_oid commit, on; /* on: the state on which it was tried */
	struct kl_step step;
};
struct kl_view_rejections {
	struct kl_view_rejection *r;
	size_t n, alloc;
};
/** Load the rejections of a lineage, newest first; empty if it has none. */
int kl_view_rejections(struct kl_view_rejections *out, struct kl_repo *repo, const char *workload,
		       const char *name);
void kl_view_rejections_release(struct kl_view_rejections *rejections);

#endif
