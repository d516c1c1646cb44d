/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_LINEAGE_VIEW_H
#define KL_LINEAGE_VIEW_H

#include "event/event.h"
#include "repo/refs.h"
#include "walk/step.h"

/*
 * view - a lineage with its events, ready to print: its commits in forward order, each with what
 * its gate events say. Nothing is measured here and nothing believed beyond the notes of this
 * clone; fsck is what verifies them.
 */
struct kl_ratio {
	int64_t ppm, lo, hi; /* predecessor's time over this one's; 0: not known */
};

struct kl_view_step {
	git_oid commit;
	git_oid rederived;             /* K_i'; zero: there is none */
	struct kl_step step;           /* number, action, ...; `text` is the subject */
	int64_t ns;                    /* 0: not profiled */
	struct kl_ratio prev;          /* against K_{i-1} */
	struct kl_ratio root;          /* against K_0: log-ratios add, half-widths in quadrature */
	struct kl_strvec gained, lost; /* features, against K_{i-1} */
	enum kl_verdict verdict;       /* OTHER: no event in this clone */
	enum kl_speed speed;           /* against K_{i-1} */
	enum kl_tier tier;
	char baseline[64]; /* name, "" : none */
	int64_t baseline_ppm;
	char event[65];            /* id of the forward event, or of the state's own; "" */
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
 * Lineages here: full ref names, sorted. `what` is NULL, "<workload>", "<workload>/<name>" or
 * a full ref.
 */
int kl_view_list(struct kl_strvec *out, struct kl_repo *repo, const char *what);
/** There is none of `what`: KL_ENOTFOUND, with those as hints that have it for a name. */
int kl_view_none(struct kl_repo *repo, const char *what);
/** The event that a step's figures come from; KL_ENOTFOUND. */
int kl_view_event(struct kl_event **out, struct kl_repo *repo, const git_oid *commit);
/**
 * How a step's K_i' compares with K_i: its speed against it where that was measured (else zeros),
 * or in words why it need not be: borrowed, "" if the notes of this clone say nothing.
 */
const char *kl_view_rederived(struct kl_ratio *against, struct kl_repo *repo,
			      const struct kl_view_step *step);
/** A factor to three digits, as many as a timing is good for: "1.25", "12.3", "312". */
void kl_view_factor(char out[24], double value);
/**
 * What every verb tells programs of step `i`: its number, commit, action, mechanism and derivation.
 */
json_t *kl_view_step_json(const struct kl_view_step *step, size_t i);
/** Split a lineage ref into its workload and name; both the caller's. KL_EINVALID. */
int kl_view_split(char **workload, char **name, const char *ref);

/**
 * The one lineage that `what` means (NULL: the only one); both the caller's. KL_ENOTFOUND, or
 * KL_EUSAGE with their names as hints when there are several.
 */
int kl_view_pick(char **workload, char **name, struct kl_repo *repo, const char *what);

/** One rejected step, or a failed attempt to derive one anew (step.forward). */
struct kl_view_rejection {
	git_oid commit, on; /* on: the state it was tried on */
	struct kl_step step;
};
struct kl_view_rejections {
	struct kl_view_rejection *r;
	size_t n, alloc;
};
/** Newest first; empty when the ref is not there. */
int kl_view_rejections(struct kl_view_rejections *out, struct kl_repo *repo, const char *workload,
		       const char *name);
void kl_view_rejections_release(struct kl_view_rejections *rejections);

#endif
