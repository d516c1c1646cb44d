/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_LEARN_ADMIT_PARTS_H
#define KL_LEARN_ADMIT_PARTS_H

#include "apply/card_commit.h"
#include "learn/admit.h"

/* admit_parts - structures and functions shared by the admit files. Inside src/learn only. */
#define KL_ADMIT_TRIALS 3 /* most trials of a card on one state */

struct kl_admit {
	const struct kl_admit_opts *o;
	struct kl_admission *a;
	struct kl_strvec seen; /* digests of the surfaces that the evidence judged */
	struct kl_card *old;   /* the library's version of the card */
	git_oid on;            /* the commit named by the option `on` */
	bool has_on;
	struct kl_card *partner; /* the enabled card that is tried with it, or NULL */
	struct kl_event *facts;  /* facts of the chosen state */
	/* of the trial */
	struct kl_session *session; /* NULL without a model */
	char *conversation;         /* name of the trial's conversations */
	char *chain;
	struct kl_keep keep;
};

/**
 * List the states of the lineages that match the option `on`, the best to try first; `why` is set
 * in those that cannot be tried.
 */
int kl_admit_states(struct kl_admit *work);
/** Get a state's compiled facts. *why (owned) is set if the card cannot be tried on it. */
int kl_admit_facts(char **why, struct kl_event **facts, const struct kl_admit *work,
		   const struct kl_admit_state *state);

/* --- one card on one state --------------------------------------------------------------- */

struct kl_attempt_of {
	const struct kl_card *card;
	const struct kl_surface *on;
	const git_oid *commit; /* of `on` */
	/* the surface to be faster than; NULL: speed is not required */
	const struct kl_surface *against;
	/* the state whose next step gives the known gain, or NULL */
	const struct kl_admit_state *known;
	const char *phase; /* phase of the conversation */
	bool control;      /* give the model the intent only */
	int number;        /* number of the step */
};

struct kl_attempt {
	struct kl_surface *to; /* NULL if no edit was made */
	git_oid commit;
	struct kl_event *event; /* NULL if nothing was judged */
	char class_[24];        /* "" if reproduced */
	char *missing;          /* for class "not-there": the missing facts; otherwise NULL */
	struct kl_ratio ratio;
	/*
	 * recovered: millionths of the known gain's logarithm; nano: cost in nano-dollars; -1:
	 * unknown
	 */
	int64_t recovered, nano;
	int repairs;
	char *model; /* NULL if made by a tool */
};
/**
 * Apply the card by the model, or, without one, by its carrier. Each judged edit becomes a commit
 * in work->keep. KL_ECANNOT: the result is too noisy, or the budget is spent before the trial ends.
 */
int kl_admit_attempt(struct kl_attempt *out, struct kl_admit *work, const struct kl_attempt_of *of);
void kl_attempt_release(struct kl_attempt *attempt);
/** Judge attempt->to as `of` describes; sets event, class_, missing, ratio and recovered. */
int kl_admit_judge(struct kl_attempt *attempt, struct kl_admit *work,
		   const struct kl_attempt_of *of);

/** Run the trial on the chosen state and write it to the library. */
int kl_admit_trial(struct kl_admit *work);

#endif
