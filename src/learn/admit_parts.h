/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_LEARN_ADMIT_PARTS_H
#define KL_LEARN_ADMIT_PARTS_H

#include "apply/card_commit.h"
#include "learn/admit.h"
#include "learn/level.h"

/* admit_parts - structures and functions shared by the admit files. Inside src/learn only. */
#define KL_ADMIT_TRIALS 3 /* most trials of a card on one state */

struct kl_admit {
	const struct kl_admit_opts *o;
	struct kl_admission *a;
	struct kl_strvec seen; /* digests of the surfaces that the card was learned from */
	struct kl_card *old;   /* the library's version of the card */
	struct kl_level_evidence evidence;
	int64_t seed;
	git_oid on; /* commit that `o->on` names; unused unless has_on */
	bool has_on;
	struct kl_card *partner; /* the enabled card that is tried with `old`, or NULL */
	struct kl_event *facts;  /* compiled facts of the chosen state */
	/* the members below belong to one trial */
	struct kl_session *session; /* NULL without a model */
	char *conversation;         /* name shared by the trial's conversations */
	char *chain;
	struct kl_keep keep;
};

/**
 * List the states that match the option `on`, in the order in which they are tried. For a state
 * that cannot be used, `why` has the reason.
 */
int kl_admit_states(struct kl_admit *work);
/**
 * Get the facts of the compiled state. If the facts forbid trying the card on the state, set *why
 * (owned) to the reason.
 */
int kl_admit_facts(char **why, struct kl_event **facts, const struct kl_admit *work,
		   const struct kl_admit_state *state);

/* --- one attempt: a card applied to a state --------------------------------------------------- */

struct kl_attempt_of {
	const struct kl_card *card;
	const struct kl_surface *on;
	const git_oid *commit; /* commit of `on` */
	/* surface that the edit must be faster than; NULL: speed is not required */
	const struct kl_surface *against;
	/*
	 * state whose own next step has the known gain; NULL: do not compare the edit's gain with
	 * it
	 */
	const struct kl_admit_state *known;
	const char *phase; /* phase of the conversation */
	bool control;      /* give the model only the card's intent */
	int number;        /* step number to write in the edit's commit */
};

struct kl_attempt {
	struct kl_surface *to; /* the edited surface; NULL if no edit was made */
	git_oid commit;
	struct kl_event *event; /* NULL if no edit was judged */
	/* class of the failure, such as "wrong-all"; "" if the card was reproduced */
	char class_[24];
	/* the facts that the edit lacks, if class_ is "not-there"; otherwise NULL */
	char *missing;
	struct kl_ratio ratio;
	/*
	 * recovered: log(gain of the edit) / log(known gain), in millionths; nano: cost in
	 * nano-dollars; -1: unknown
	 */
	int64_t recovered, nano;
	int64_t tokens; /* of all turns; -1: not known, or a tool made the edit */
	int repairs;
	char *model; /* NULL if a tool made the edit */
	bool seen;   /* the repository could not be hidden from the model's command */
};
/**
 * Let the model apply the card or, without a model, use the card's mechanical carrier. Each judged
 * edit becomes a commit in work->keep. KL_ECANNOT: the result is too noisy, or the budget was spent
 * before the conversation ended.
 */
int kl_admit_attempt(struct kl_attempt *out, struct kl_admit *work, const struct kl_attempt_of *of);
void kl_attempt_release(struct kl_attempt *attempt);
/** Judge attempt->to as `of` says, and set event, class_, missing, ratio and recovered. */
int kl_admit_judge(struct kl_attempt *attempt, struct kl_admit *work,
		   const struct kl_attempt_of *of);

/** Run the trial on the chosen state and write it to the library. */
int kl_admit_trial(struct kl_admit *work);

#endif
