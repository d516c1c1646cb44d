/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_LEARN_ADMIT_H
#define KL_LEARN_ADMIT_H

#include "card/library.h"
#include "gate/gate.h"
#include "learn/transition.h"
#include "model/session.h"
#include "retrieve/taxonomy.h"

/*
 * admit - runs one held-out trial of a card (docs/formats.md, "Admission").
 *
 * A state S of a lineage in this repository is held out if the card was not learned from it:
 * neither from its commit nor from the same files in another commit. A held-out state is eligible
 * if it can be judged here, its facts allow the card and, without a model, the card's mechanical
 * carrier can edit it. Of the eligible states one is drawn at random: first among those on which a
 * pass can admit the card (level.h), then among those where it can only make the card provisional,
 * then among those with nearly the code of the evidence. The trial records the seed.
 *
 * The card is reproduced if the gate finds the edit correct, the edit adds the facts that the card
 * provides, and the edited state is fast compared with S. If S's own next step has the card's
 * mechanism and was faster, the logarithm of the edit's gain must also be at least half of the
 * logarithm of that step's gain. An enabler (a card with `enables`) is reproduced if one of the
 * cards that it enables is reproduced on S with the enabler's edit, but not on S alone. A model
 * gets only the card, the contract and S, and may repair its edit three times. As controls, a model
 * gets in place of the card its intent, the card without conditions and risks, and another card;
 * the seed puts these arms and the card's own in order. The trial, whether it passed or not, is
 * added to `ver` with its event. Commits, notes and library are updated in one transaction. A
 * killed trial leaves the model's stored replies and the verdicts so far (admit_progress.c); the
 * next call continues the trial, pays for no reply again and judges no edit again.
 *
 * If the session's runner judges elsewhere, a call is a wave (gate/wave.h): each arm continues
 * until it needs a verdict that is missing. A trial that waits is continued like one that was
 * killed.
 */
struct kl_admit_state {
	/* borrowed from the transitions; NULL if the state is the kernel of kl_admit_opts */
	const char *lineage;
	int step; /* the state is K_step of the lineage */
	git_oid commit;
	const struct kl_surface *state; /* borrowed */
	/* the surface that `state` points to, if it is owned here; otherwise NULL */
	struct kl_surface *own;
	/* the step that follows the state in its lineage; NULL if the state is K* */
	const struct kl_transition *next;
	enum kl_level level;
	int64_t changed, alike; /* as in struct kl_card_trial */
	bool like;              /* `next` has the card's mechanism */
	uint64_t draw;          /* the number that was drawn for the state */
	int64_t trials;         /* number of earlier trials of this card on this state */
	char *why; /* why the card cannot be tried on this state; NULL if it can be tried */
};

struct kl_admission {
	struct kl_card *card; /* the new version of the card, with the trial added */
	int64_t seed;         /* the seed with which the state was drawn */
	enum kl_card_status before;
	struct kl_admit_state *v; /* states in the order in which they are tried */
	size_t n, alloc;
	/* index in `v` of the chosen state; `n` if the card cannot be tried on any state */
	size_t chosen;
	const struct kl_card_trial *trial; /* row in the card's `ver`; NULL if no trial was run */
	/* number of edits whose verdicts come later; if not 0, no trial was recorded yet */
	size_t waiting;
	/* id of the enabled card that is tried with this card, or NULL */
	char *partner;
	struct kl_transitions t;
};

#define KL_ADMIT_MAX_SEED 9007199254740991 /* 2^53 - 1 */

struct kl_admit_opts {
	struct kl_repo *repo;
	struct kl_library *library;
	const struct kl_taxonomy *tax;
	struct kl_gate *gate;
	const char *card; /* id, or a unique prefix */
	/* restricts the states: name of a lineage or workload, or a commit; NULL for all states */
	const char *on;
	int64_t seed; /* draws the state; 0 for a seed of the operating system */
	/*
	 * a kernel of this repository, borrowed, and its commit; if it is not NULL, try the card
	 * only on this kernel and not on states of lineages
	 */
	const struct kl_surface *kernel;
	git_oid commit;
	bool dry;             /* choose a state, but run no trial */
	const char *rewriter; /* "chat" or "exec"; NULL to use mechanical carriers only */
	/** Open a model's session (borrowed) that charges the workload's ledger. */
	int (*open)(struct kl_session **out, const char *workload, void *payload);
	void *payload;
	unsigned arms; /* which arms a model gets: bits 1 << arm (kl_admit_arms_parse) */
	struct kl_progress *progress;
};

/**
 * Read a list of arms, "card,intent,bare,wrong", which must have "card". Return KL_EUSAGE if the
 * list has another word, or lacks "card".
 */
int kl_admit_arms_parse(unsigned *out, const char *text);

/**
 * Run a trial. Return 0 if the trial passed, if it failed, or if the card cannot be tried on any
 * state. Return KL_ECANNOT if the card cannot be tried without a model (it has no mechanical
 * carrier, or it provides a trait, which only a model can confirm); the card provides no facts; the
 * card is an enabler and none of the cards it enables can be tried; the gate cannot judge here; the
 * result is too noisy; or the budget is spent. Return KL_EINVALID if the card is retracted. Return
 * KL_ENOTFOUND if no state matches `on`. Return KL_EBUSY if another process is trying the card.
 */
int kl_admit(struct kl_admission *out, const struct kl_admit_opts *opts);
void kl_admission_release(struct kl_admission *admission);

#endif
