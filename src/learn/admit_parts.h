/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_LEARN_ADMIT_PARTS_H
#define KL_LEARN_ADMIT_PARTS_H

#include "apply/card_commit.h"
#include "learn/admit.h"

/* admit_parts - what the files of admit share. Inside src/learn only. */
#define KL_ADMIT_TRIALS 3 /* of a card on one state */

struct kl_admit {
	const struct kl_admit_opts *o;
	struct kl_admission *a;
	struct kl_strvec seen; /* surfaces of the evidence */
	struct kl_card *old;   /* as the library has it */
	git_oid on;            /* the one state that was asked for */
	bool has_on;
	struct kl_card *partner; /* that it makes room for, or NULL */
	struct kl_event *facts;  /* of the chosen state */
	/* a trial */
	struct kl_session *session; /* NULL: by tools */
	char *conversation;         /* name of its conversations */
	char *chain;
	struct kl_keep keep;
};

/** The states of all lineages, in the order to try; those that cannot be tried say why. */
int kl_admit_states(struct kl_admit *work);
/** What the compiler shows of a state: `*why` (owned) if the card is not to be tried on it. */
int kl_admit_facts(char **why, struct kl_event **facts, const struct kl_admit *work,
		   const struct kl_admit_state *state);

/* --- one card on one state --------------------------------------------------------------- */

struct kl_attempt_of {
	const struct kl_card *card;
	const struct kl_surface *on;
	const git_oid *commit; /* of it */
	/* what it is to be faster than; NULL: than nothing */
	const struct kl_surface *against;
	const struct kl_admit_state *known; /* whose next step is the measure; NULL: none is */
	const char *phase;                  /* of the conversation */
	bool control;                       /* the intent alone */
	int number;                         /* of the step */
};

struct kl_attempt {
	struct kl_surface *to; /* NULL: no edit came */
	git_oid commit;
	struct kl_event *event; /* NULL: nothing was judged */
	char class_[24];        /* "": reproduced */
	char *missing;          /* "not-there": what did not come; else NULL */
	struct kl_card_ratio ratio;
	int64_t recovered, nano; /* -1: not known */
	int repairs;
	char *model; /* NULL: a tool */
};
/**
 * By the model, if there is one, else by the card's carrier; each edit that was judged becomes a
 * commit in the keep. KL_ECANNOT: noise hides what it is worth, or the budget ends before the trial
 * does.
 */
int kl_admit_attempt(struct kl_attempt *out, struct kl_admit *work, const struct kl_attempt_of *of);
void kl_attempt_release(struct kl_attempt *attempt);
/** Judged already, against another one: what of `of` holds of it. */
int kl_admit_judge(struct kl_attempt *attempt, struct kl_admit *work,
		   const struct kl_attempt_of *of);

/** The chosen state's trial, from the first edit to the library. */
int kl_admit_trial(struct kl_admit *work);

#endif
