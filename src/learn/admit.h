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
 * carrier can edit it. Eligible states are sorted by these criteria, the first being the most
 * important: a pass would admit the card; more of its anchor is found; the state is farther from
 * the evidence; S's own next step has the card's mechanism; lineage and step. The first state is
 * used.
 *
 * The card is reproduced if the gate finds the edit correct, the edit adds what the card provides,
 * and the edited state is fast compared with S. If S's own next step had the card's mechanism and
 * was faster, the edit must also reach at least half of that gain's logarithm. An enabler is
 * reproduced together with one of the cards that it enables; that card must fail on S alone. A
 * model gets only the card, the contract and S and can repair its edit three times; then, as a
 * control, it gets the intent without the card. The trial is added to `ver` with its event, passed
 * or not. Commits, notes and library are updated in one transaction, so that a killed trial leaves
 * no trace except the model's replies, which are kept and not paid for again.
 */
struct kl_admit_state {
	const char *lineage; /* borrowed from the transitions */
	int step;            /* K_step */
	git_oid commit;
	const struct kl_surface *state;   /* borrowed */
	struct kl_surface *own;           /* owned; what `state` points to, or NULL */
	const struct kl_transition *next; /* the next step in its lineage, or NULL */
	enum kl_level level;
	bool like; /* the next step has the card's mechanism */
	/* part of the anchor found, 0 to KL_ONE; half if the card has no facts for the language */
	int64_t found;
	int64_t trials; /* earlier trials of this card on it */
	char *why;      /* why it cannot be tried, or NULL */
};

struct kl_admission {
	struct kl_card *card; /* with the trial added */
	enum kl_card_status before;
	struct kl_admit_state *v; /* in the order to try */
	size_t n, alloc;
	size_t chosen;                     /* index; n if none can be tried */
	const struct kl_card_trial *trial; /* in the card's `ver`; NULL if there was none */
	char *partner;                     /* id of the enabled card tried with it, or NULL */
	struct kl_transitions t;
};

struct kl_admit_opts {
	struct kl_repo *repo;
	struct kl_library *library;
	const struct kl_taxonomy *tax;
	struct kl_gate *gate;
	const char *card;     /* id, or a unique prefix */
	const char *on;       /* only this lineage, workload or commit; NULL: all */
	bool dry;             /* choose a state, but do not try it */
	const char *rewriter; /* "chat", "exec"; NULL: mechanical carriers only */
	/** Open a session that charges the workload's ledger; borrowed. */
	int (*open)(struct kl_session **out, const char *workload, void *payload);
	void *payload;
	bool no_control; /* do not run the control (the intent without the card) */
	struct kl_progress *progress;
};

/**
 * Run a trial. Returns 0 whether it passed or failed, and if no state can be tried. KL_ECANNOT: the
 * card cannot be tried without a model (it has no mechanical carrier, or provides a trait that only
 * a model can confirm), it provides no facts, none of the cards that it enables can be tried, the
 * gate cannot judge here, the result is too noisy, or the budget is spent. KL_EINVALID: the card is
 * retracted. KL_ENOTFOUND: no state matches `on`.
 */
int kl_admit(struct kl_admission *out, const struct kl_admit_opts *opts);
void kl_admission_release(struct kl_admission *admission);

#endif
