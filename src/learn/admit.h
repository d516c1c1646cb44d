/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_LEARN_ADMIT_H
#define KL_LEARN_ADMIT_H

#include "card/library.h"
#include "gate/gate.h"
#include "learn/transition.h"
#include "model/session.h"
#include "retrieve/taxonomy.h"

/*
 * admit - one held-out trial of a card (docs/formats.md, "Admission").
 *
 * A state S of a lineage of this repository is held out if nothing of the card was learned from it:
 * neither its commit nor, wherever they lie, the same files. Of those whose facts let the card be
 * tried, and, without a model, on which its mechanical carrier makes an edit, the first in a fixed
 * order is taken: where a pass admits; where more of the card's anchor is found; the farthest from
 * the evidence; where its own next step had the card's mechanism; by lineage and step. What cannot
 * be judged here is not taken.
 *
 * Reproduced: the gate finds the edit correct, what the card provides is there and was not, it is
 * fast against S, and, where S's own next step had the card's mechanism and was faster, by at least
 * half of that gain's logarithm. A card that makes room for others is reproduced together with one
 * of those, which fails on S alone. A model is given the card, the contract and S, and nothing
 * else, and may repair three times; then, as a control, the intent alone. Passed or not, the trial
 * goes into `ver` with its event; commits, notes and library move in one transaction, so that a
 * killed trial never was. What the model said until then is kept, and not bought again.
 */
struct kl_admit_state {
	const char *lineage; /* borrowed from the transitions */
	int step;            /* K_step */
	git_oid commit;
	const struct kl_surface *state;   /* borrowed */
	struct kl_surface *own;           /* what `state` points to where it is ours */
	const struct kl_transition *next; /* its own next step, or NULL */
	enum kl_level level;
	bool like; /* that step had the card's mechanism */
	/* how much of the anchor: 0 to KL_ONE; half: none is told */
	int64_t found;
	int64_t trials; /* of this card on it, so far */
	char *why;      /* not tried: why; NULL: it can be */
};

struct kl_admission {
	struct kl_card *card; /* as it is after the trial */
	enum kl_card_status before;
	struct kl_admit_state *v; /* in the order to try */
	size_t n, alloc;
	size_t chosen;                     /* index; n: none can be tried */
	const struct kl_card_trial *trial; /* in the card's `ver`; NULL: none was made */
	char *partner;                     /* card that was tried with it, or NULL */
	struct kl_transitions t;
};

struct kl_admit_opts {
	struct kl_repo *repo;
	struct kl_library *library;
	const struct kl_taxonomy *tax;
	struct kl_gate *gate;
	const char *card;     /* id, or an unambiguous beginning */
	const char *on;       /* only a lineage or workload, or one commit; NULL: all */
	bool dry;             /* say which state, and stop */
	const char *rewriter; /* "chat", "exec"; NULL: tools alone */
	/** Its conversation, whose money is that of the state's workload; borrowed. */
	int (*open)(struct kl_session **out, const char *workload, void *payload);
	void *payload;
	bool no_control; /* not the intent alone */
	struct kl_progress *progress;
};

/**
 * 0 whatever came of the trial, also when no state can be tried. KL_ECANNOT: the card cannot be
 * tried without a model (it has no mechanical carrier, or what it provides only a reader can see),
 * the gate cannot judge here, noise hides what it found, or the budget is spent. KL_EINVALID: it is
 * retracted. KL_ENOTFOUND: no state is `on`.
 */
int kl_admit(struct kl_admission *out, const struct kl_admit_opts *opts);
void kl_admission_release(struct kl_admission *admission);

#endif
