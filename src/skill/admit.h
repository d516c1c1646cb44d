/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_SKILL_ADMIT_H
#define KL_SKILL_ADMIT_H

#include "gate/gate.h"
#include "skill/library.h"
#include "skill/taxonomy.h"
#include "skill/transition.h"

/*
 * admit - one held-out trial of a card, without a model (docs/formats.md, "Admission").
 *
 * A state S of a lineage of this repository is held out if nothing of the card was learned from it: neither
 * its commit nor, wherever they lie, the same files. Of those on which the card's mechanical carrier makes
 * an edit, and whose facts let the card be tried, the first in a fixed order is taken: the farthest from the
 * evidence; where its own next step had the card's mechanism; by lineage and step.
 *
 * Reproduced: the gate finds the edit correct, what the card provides is there and was not, it is fast
 * against S, and, where S's own next step had the card's mechanism and was faster, by at least half of
 * that gain's logarithm. Passed or not, the trial goes into `ver` with its event: one commit of the
 * library.
 */
struct kl_admit_state {
	const char *lineage;		/* borrowed from the transitions */
	int step;			/* K_step */
	git_oid commit;
	const struct kl_surface *state;	/* borrowed */
	struct kl_surface *own;		/* what `state` points to where it is ours */
	const struct kl_transition *next;	/* its own next step, or NULL */
	enum kl_level level;
	bool like;			/* that step had the card's mechanism */
	int64_t trials;			/* of this card on it, so far */
	char *why;			/* not tried: why; NULL: it can be */
};

struct kl_admission {
	struct kl_card *card;		/* as it is after the trial */
	enum kl_card_status before;
	struct kl_admit_state *v;	/* in the order to try */
	size_t n, alloc;
	size_t chosen;			/* index; n: none can be tried */
	const struct kl_card_trial *trial;	/* in the card's `ver`; NULL: none was made */
	struct kl_transitions t;
};

struct kl_admit_opts {
	struct kl_repo *repo;
	struct kl_library *library;
	const struct kl_taxonomy *tax;
	struct kl_gate *gate;
	const char *card;		/* id, or an unambiguous beginning */
	bool dry;			/* say which state, and stop */
};

/**
 * 0 whatever came of the trial, also when no state can be tried. KL_ECANNOT: the card cannot be tried
 * without a model (it has no mechanical carrier, or what it provides only a reader can see), or the gate
 * cannot judge here. KL_EINVALID: it is retracted.
 */
int kl_admit(struct kl_admission *out, const struct kl_admit_opts *o);
void kl_admission_release(struct kl_admission *a);

#endif
