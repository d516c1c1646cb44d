/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_LEARN_TRANSITION_H
#define KL_LEARN_TRANSITION_H

#include "card/card.h"
#include "contract/surface.h"
#include "event/event.h"
#include "repo/repo.h"
#include "walk/step.h"

/*
 * transition - one forward step K_{i-1} -> K_i of a lineage, with its events and surfaces.
 *
 * Comments call it tau_i. It is read from a lineage branch or from an exported directory, which is
 * verified as an import is, but no ref is made.
 *
 *	kl_transitions_load(&t, repo, "skills/lineages/cuda-topk");
 *	kl_transitions_load(&t, repo, NULL);		adds all branches; each lineage once
 */
struct kl_transition {
	char *lineage; /* "<workload>/<name>" */
	struct kl_step step;
	char *said; /* first line of the commit's body, or "" */
	git_oid before, after;
	git_oid rederived;            /* K_i'; zero if there is none */
	struct kl_surface *from, *to; /* K_{i-1}; K_i, or K_i' if confirmed in isolation */
	char *diff;                   /* unified diff of the contract's directory, from -> to */
	struct kl_event *event;       /* forward event: K_i compared with K_{i-1} */
	struct kl_event *confirmed;   /* event of K_i', or NULL */
	/* features that K_i has and K_{i-1} lacks, and the reverse */
	struct kl_strvec gained, lost;
	struct kl_strvec had; /* features of K_{i-1} */
	char *platform;       /* "cuda/sm_90" */
	const char *dtype;    /* borrowed; as kl_target_dtype, or "none" */
};

/** A refused step, or a failed attempt to derive one anew: an edit known to break the kernel. */
struct kl_refusal {
	char *lineage;
	struct kl_step step;
	char *said; /* as in kl_transition */
	git_oid commit, on;
	struct kl_event *event; /* the failing gate event, or NULL */
};

struct kl_transitions {
	struct kl_transition *v; /* by lineage, in forward order */
	size_t n, alloc;
	struct kl_refusal *r;
	size_t nr, nr_alloc;
	struct kl_strvec lineages; /* "<workload>/<name>" */
	struct kl_map events;      /* id -> struct kl_event *, owned; all events read */
	struct kl_strvec notes;    /* steps that cannot be used and why */
};

/**
 * Add lineages. `what` is NULL (all in the repository), "<workload>", "<workload>/<name>", a ref,
 * an exported lineage's directory, or a directory of these. KL_ENOTFOUND: `what` names none.
 */
int kl_transitions_load(struct kl_transitions *transitions, struct kl_repo *repo, const char *what);
void kl_transitions_release(struct kl_transitions *transitions);

/** Number of timed points; each can become a row of `effect`. */
size_t kl_transition_points(const struct kl_transition *transition);
/** Get the ratio and dims (borrowed) of point i; false if it was not compared. */
bool kl_transition_point(struct kl_ratio *ratio, const struct kl_dims **dims,
			 const struct kl_transition *transition, const struct kl_map *events,
			 size_t i);

/** Get the ratio of point i from an event, or, if it is an inverse one, from `pair`, inverted. */
bool kl_transition_ratio(struct kl_ratio *out, const struct kl_event *event,
			 const struct kl_event *pair, size_t i);

#endif
