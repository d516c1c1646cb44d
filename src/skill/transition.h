/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_SKILL_TRANSITION_H
#define KL_SKILL_TRANSITION_H

#include "gate/facts.h"
#include "gate/surface.h"
#include "lineage/step.h"
#include "repo/repo.h"
#include "text/json.h"

/*
 * transition - tau_i: K_{i-1} -> K_i with all that is known of it, read from a lineage branch or from
 * an exported directory (which is verified as import does, and leaves no ref).
 */
struct kl_transition {
	char *lineage;			/* "<workload>/<name>" */
	struct kl_step step;
	git_oid before, after;
	git_oid rederived;		/* zero: none */
	struct kl_surface *from, *to;	/* K_{i-1} and K_i (K_i' where it was derived anew) */
	char *diff;			/* from -> to, unified */
	json_t *event;			/* the forward event */
	json_t *state_event;		/* K_{i-1}'s own, or NULL */
	struct kl_strvec gained, lost;	/* features */
	char *platform;			/* "cuda/sm_90" */
	char *dtype;			/* of the largest float tensor, or the first tensor */
};

/** A step that was refused, forward or back: what breaks when it is done so. */
struct kl_refusal {
	char *lineage;
	struct kl_step step;
	git_oid commit, on;
	json_t *event;			/* NULL: none was made */
};

struct kl_transitions {
	struct kl_transition *v;
	size_t n, alloc;
	struct kl_refusal *r;
	size_t nr, nr_alloc;
	struct kl_map events;		/* id -> json_t *, owned: all that these lineages have */
};

/** `what`: NULL (all of the repository), "<workload>", "<workload>/<name>", a ref, or a directory. */
int kl_transitions_load(struct kl_transitions *out, struct kl_repo *r, const char *what);
void kl_transitions_release(struct kl_transitions *t);

#endif
