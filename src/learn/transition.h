/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_LEARN_TRANSITION_H
#define KL_LEARN_TRANSITION_H

#include "card/card.h"
#include "contract/surface.h"
#include "event/event.h"
#include "repo/repo.h"
#include "walk/step.h"

/*
 * transition - one forward step of a lineage (tau_i) with all that is known of it: K_{i-1} -> K_i,
 * read from a lineage branch or from an exported directory (which is verified as import does, and
 * leaves no ref).
 *
 *	kl_transitions_load(&t, repo, "skills/lineages/cuda-topk");
 *	kl_transitions_load(&t, repo, NULL);		adds all branches; a lineage is taken once
 */
struct kl_transition {
	char *lineage; /* "<workload>/<name>" */
	struct kl_step step;
	char *said; /* first line of the commit's text below its subject, or "" */
	git_oid before, after;
	git_oid rederived;             /* K_i'; zero: none */
	struct kl_surface *from, *to;  /* K_{i-1}; K_i, or K_i' if confirmed in isolation */
	char *diff;                    /* from -> to, unified, below the contract's directory */
	struct kl_event *event;        /* the forward event: K_i against K_{i-1} */
	struct kl_event *confirmed;    /* of K_i', NULL: none here */
	struct kl_strvec gained, lost; /* features, K_{i-1} -> K_i */
	struct kl_strvec had;          /* features of K_{i-1} */
	char *platform;                /* "cuda/sm_90" */
	const char *dtype;             /* borrowed: of the largest float tensor, or the first */
};

/**
 * A step that was refused, or an attempt to derive one anew that failed: what breaks if it is done
 * so.
 */
struct kl_refusal {
	char *lineage;
	struct kl_step step;
	char *said; /* likewise */
	git_oid commit, on;
	struct kl_event *event; /* of a fail; NULL: none is here */
};

struct kl_transitions {
	struct kl_transition *v; /* by lineage, in forward order */
	size_t n, alloc;
	struct kl_refusal *r;
	size_t nr, nr_alloc;
	struct kl_strvec lineages; /* "<workload>/<name>" */
	struct kl_map events;      /* id -> struct kl_event *, owned; all there are */
	struct kl_strvec notes;    /* steps that cannot be used, and why */
};

/**
 * Add lineages. `what`: NULL (all of the repository), "<workload>", "<workload>/<name>", a ref, or
 * a directory: an exported lineage, or one that holds some. KL_ENOTFOUND: no lineage there.
 */
int kl_transitions_load(struct kl_transitions *transitions, struct kl_repo *repo, const char *what);
void kl_transitions_release(struct kl_transitions *transitions);

/** How many points were measured: rows of `effect`. */
size_t kl_transition_points(const struct kl_transition *transition);
/** The i-th one; false: it was not compared. */
bool kl_transition_point(struct kl_card_ratio *ratio, const struct kl_dims **dims,
			 const struct kl_transition *transition, const struct kl_map *events,
			 size_t i);

/** The ratio of point i that an event says, or its pair (inverse) turned round; false: none. */
bool kl_transition_ratio(struct kl_card_ratio *out, const struct kl_event *event,
			 const struct kl_event *pair, size_t i);

#endif
