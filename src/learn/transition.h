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
 * A pruned lineage is left out: its steps are those of the lineage that it was pruned from.
 *
 * Transitions are read from a lineage branch, or from an exported directory, which is verified like
 * an import but creates no ref.
 *
 *	kl_transitions_load(&t, repo, "skills/lineages/cuda-topk");
 *	kl_transitions_load(&t, repo, NULL);		all branches, each lineage once
 */
struct kl_transition {
	char *lineage; /* "<workload>/<name>" */
	struct kl_step step;
	char *said; /* first line of the commit's body, or "" */
	/* step.mechanism and step.trait come from a person's label (event/label.h) */
	bool labelled;
	git_oid before, after;
	git_oid rederived; /* commit of K_i'; zero if the step was not re-derived */
	/* K_{i-1} and K_i; if K_i' was derived in isolation and confirmed, `to` is K_i' */
	struct kl_surface *from, *to;
	/* unified diff of the contract's directory, from `from` to `to` */
	char *diff;
	struct kl_event *event;     /* forward event: K_i compared with K_{i-1} */
	struct kl_event *confirmed; /* event of K_i', or NULL */
	/* features that K_i has but K_{i-1} lacks; features that K_{i-1} has but K_i lacks */
	struct kl_strvec gained, lost;
	struct kl_strvec had; /* features of K_{i-1} */
	/*
	 * commits K_j of the steps that transplants of the lineage show to be required by this
	 * step, or to conflict with it; a kernel that merely does not compile shows neither
	 */
	struct kl_strvec requires, conflicts;
	char *platform;    /* "cuda/sm_90" */
	const char *dtype; /* borrowed; as from kl_target_dtype(), or "none" */
};

/** An edit that breaks the kernel: a refused step, or a failed attempt to re-derive a step. */
struct kl_refusal {
	char *lineage;
	struct kl_step step;
	char *said; /* first line of the commit's body, or "" */
	git_oid commit, on;
	struct kl_event *event; /* the failing gate event, or NULL */
};

struct kl_transitions {
	struct kl_transition *v; /* sorted by lineage, then in forward order */
	size_t n, alloc;
	struct kl_refusal *r;
	size_t nr, nr_alloc;
	struct kl_strvec lineages; /* "<workload>/<name>" */
	struct kl_map events;      /* all events read: id -> struct kl_event *, owned */
	struct kl_strvec notes;    /* steps that were left out, and why */
};

/**
 * Add lineages. `what` is NULL (all lineages in the repository), "<workload>", "<workload>/<name>",
 * a ref, the directory of an exported lineage, or a directory of such directories. Return
 * KL_ENOTFOUND if `what` names no lineage.
 */
int kl_transitions_load(struct kl_transitions *transitions, struct kl_repo *repo, const char *what);
void kl_transitions_release(struct kl_transitions *transitions);

/** Return the number of timed points; each can become a row of `effect`. */
size_t kl_transition_points(const struct kl_transition *transition);
/**
 * Get the ratio and the dims (borrowed) of point i. Return false if the states were not compared
 * there.
 */
bool kl_transition_point(struct kl_ratio *ratio, const struct kl_dims **dims,
			 const struct kl_transition *transition, const struct kl_map *events,
			 size_t i);

/**
 * Get the ratio of point i from an event. If the event is an inverse event, invert the ratio of
 * `pair`, the event that it was made from. Return false if there is no ratio.
 */
bool kl_transition_ratio(struct kl_ratio *out, const struct kl_event *event,
			 const struct kl_event *pair, size_t i);

#endif
