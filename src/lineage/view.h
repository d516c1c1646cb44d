/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_LINEAGE_VIEW_H
#define KL_LINEAGE_VIEW_H

#include "event/event.h"
#include "repo/refs.h"
#include "walk/step.h"

/*
 * view - reads a lineage and the results in its gate events, for printing: the commits in forward
 * order, each with its results. Nothing is measured. This clone's notes are not verified, because
 * fsck does that.
 */
struct kl_view_step {
	git_oid commit;
	git_oid rederived;    /* commit of K_i'; zero if the step was not re-derived */
	struct kl_step step;  /* `text` is only the subject */
	int64_t ns;           /* time in nanoseconds; 0 if not profiled */
	struct kl_ratio prev; /* speed compared with K_{i-1}; its ppm is 0 if unknown */
	/*
	 * speed compared with K_0: the product of `prev` of all steps so far; its ppm is 0 if
	 * unknown
	 */
	struct kl_ratio root;
	/* features that the state has and K_{i-1} lacks; features that only K_{i-1} has */
	struct kl_strvec gained, lost;
	enum kl_verdict verdict; /* KL_VERDICT_OTHER if this clone has no event of the state */
	bool outdated;           /* the event is outdated, see kl_event_is_outdated() */
	enum kl_speed speed;     /* compared with K_{i-1} */
	enum kl_tier tier;
	char device[128];     /* name of the processor; "" if unknown */
	char baseline[64];    /* name of the baseline; "" if there is none */
	int64_t baseline_ppm; /* speed compared with the baseline; 0 if not timed */
	/*
	 * id of the forward event; if there is none, id of the state's newest event; "" without any
	 * event
	 */
	char event[65];
	struct kl_strvec features; /* features of the compiled state */
	int64_t features_version;  /* as in struct kl_facts */
	/* mechanism that a person's label names (event/label.h); NULL without a label */
	char *label;
	char *labeller; /* the person who set the label */
};

struct kl_view {
	char *workload, *name;
	char ref[256];
	struct kl_view_step *step; /* the states; [0] is K_0 */
	size_t n;
	size_t rejected; /* number of rejected backward steps, without states that were passed over */
};

/** Load a lineage. Return KL_ENOTFOUND if this repository has no such lineage. */
int kl_view_load(struct kl_view *out, struct kl_repo *repo, const char *workload, const char *name);
void kl_view_release(struct kl_view *view);

/**
 * List the lineages of this repository as full ref names, sorted. `what` is NULL (all),
 * "<workload>", "<workload>/<name>" or a ref name, full or without "refs/heads/".
 */
int kl_view_list(struct kl_strvec *out, struct kl_repo *repo, const char *what);
/**
 * Set the error that there is no lineage `what`, and return KL_ENOTFOUND. If other workloads have
 * lineages with that name, hints list them.
 */
int kl_view_none(struct kl_repo *repo, const char *what);
/**
 * Set *out to the event of a commit that has the results of its step. Return KL_ENOTFOUND if there
 * is none.
 */
int kl_view_event(struct kl_event **out, struct kl_repo *repo, const git_oid *commit);
/**
 * Set *against to the speed of K_i' compared with K_i, or to zeros if it was not measured. Return
 * the reason why it need not be measured ("the same files"), or ""; the text is not to be freed.
 */
const char *kl_view_rederived(struct kl_ratio *against, struct kl_repo *repo,
			      const struct kl_view_step *step);
/**
 * Format a factor with three digits, because timings are no more precise: "1.25", "12.3", "312".
 */
void kl_view_factor(char out[24], double value);
/**
 * Find the step named by "3", "K_3", "K*" or a commit of the lineage. Return KL_ENOTFOUND if there
 * is none.
 */
int kl_view_find(size_t *out, const struct kl_view *view, struct kl_repo *repo, const char *word);
/**
 * Return the mechanism of a step for people: "prefetch"; "register-tile 0.80" with the confidence of
 * a name that sources and facts gave; "fma (by Ada)" for a person's label; "(fma: contradicted)"
 * for a claim that was taken back; "-". The caller frees it.
 */
char *kl_view_mechanism(const struct kl_view_step *step);
/**
 * Return the short name of a step, for figures: the label that a person gave, else the mechanism,
 * else the action of the backward step; "?" if there is none. It lives as long as the step.
 */
const char *kl_view_step_name(const struct kl_view_step *step);
/**
 * Return a JSON object with the members of step `i` that all commands print: number, commit,
 * action, mechanism, derivation, and how the mechanism was named: confidence, evidence, claimed,
 * label, labeller.
 */
json_t *kl_view_step_json(const struct kl_view_step *step, size_t i);
/**
 * Split the ref of a lineage into workload and name, both owned by the caller. Return KL_EINVALID
 * if `ref` is not the ref of a lineage.
 */
int kl_view_split(char **workload, char **name, const char *ref);

/**
 * Find the lineage that `what` names, or the only lineage if `what` is NULL. The caller owns both
 * strings. Return KL_ENOTFOUND if there is none. Return KL_EUSAGE if there are several; hints list
 * them.
 */
int kl_view_pick(char **workload, char **name, struct kl_repo *repo, const char *what);

/** One rejected step. If `step.forward` is set, it is a failed attempt to re-derive a step. */
struct kl_view_rejection {
	/* commit of the step, and commit of the state that the step was tried on */
	git_oid commit, on;
	struct kl_step step;
};
struct kl_view_rejections {
	struct kl_view_rejection *r;
	size_t n, alloc;
};
/** Load the rejected steps of a lineage, newest first. If it has none, the result is empty. */
int kl_view_rejections(struct kl_view_rejections *out, struct kl_repo *repo, const char *workload,
		       const char *name);
void kl_view_rejections_release(struct kl_view_rejections *rejections);

#endif
