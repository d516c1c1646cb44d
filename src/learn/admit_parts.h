/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_LEARN_ADMIT_PARTS_H
#define KL_LEARN_ADMIT_PARTS_H

#include "apply/card_commit.h"
#include "base/lock.h"
#include "learn/admit.h"
#include "learn/level.h"

/* admit_parts - structures and functions shared by the admit files. Inside src/learn only. */
#define KL_ADMIT_TRIALS 3 /* maximum number of trials of a card on one state */

/* A trial that has begun (admit_progress.c). */
struct kl_admit_progress {
	struct kl_lock lock;
	char *path;
	json_t *doc; /* NULL if no trial has begun */
};

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
	struct kl_admit_progress progress;
	/* the members below belong to one trial */
	char *name;                 /* name of the trial, made of card, state and number */
	struct kl_card *wrong;      /* the card of the arm `wrong`, or NULL */
	struct kl_session *session; /* NULL without a model */
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

/*
 * --- arms -------------------------------------------------------------------------------------
 */

/*
 * What a model gets in an arm: the whole card, its intent alone, the card without conditions and
 * risks, or another card of about the same length.
 */
enum kl_admit_arm { KL_ADMIT_CARD, KL_ADMIT_INTENT, KL_ADMIT_BARE, KL_ADMIT_WRONG, KL_ADMIT_ARMS };

const char *kl_admit_arm_name(enum kl_admit_arm arm);  /* "card", ... */
const char *kl_admit_arm_phase(enum kl_admit_arm arm); /* of its conversation: "admit", ... */
/**
 * Find the card of the arm `wrong` and set work->wrong: of the cards with another mechanism and
 * with code in the state's language, the one whose length is nearest. Set NULL if the library has
 * none.
 */
int kl_admit_arms_wrong(struct kl_admit *work);
/** List the arms of the trial in the order in which the seed puts them; return their number. */
size_t kl_admit_arms_order(enum kl_admit_arm out[KL_ADMIT_ARMS], const struct kl_admit *work);

/*
 * --- one attempt: a card applied to a state ---------------------------------------------------
 */

struct kl_attempt_of {
	const struct kl_card *card;
	const struct kl_surface *on;
	const git_oid *commit; /* commit of `on` */
	/* surface that the edit must be faster than; NULL if speed is not required */
	const struct kl_surface *against;
	/*
	 * state whose own next step has the known gain; NULL if the edit's gain is not compared
	 * with it
	 */
	const struct kl_admit_state *known;
	const char *phase; /* phase of the conversation */
	enum kl_admit_arm arm;
	const struct kl_card *shown; /* for the arm `wrong`: the card to show; otherwise NULL */
	int number;                  /* step number to write in the edit's commit */
};

/** Write the text that the arm shows, and return the name of its system prompt. */
const char *kl_admit_arm_write(struct kl_buf *out, const struct kl_attempt_of *of);

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
	 * nano-dollars; -1 if unknown
	 */
	int64_t recovered, nano;
	int64_t tokens; /* tokens of all turns; -1 if not known or if a tool made the edit */
	int repairs;
	char *model; /* NULL if a tool made the edit */
	bool seen;   /* the repository could not be hidden from the model's command */
	bool waits;  /* the verdict on `to` comes later, so the attempt is not finished */
};
/**
 * Let the model apply the card or, without a model, use the card's mechanical carrier. Each judged
 * edit becomes a commit in work->keep. Return KL_ECANNOT if the result is too noisy, or the budget
 * was spent before the conversation ended.
 */
int kl_admit_attempt(struct kl_attempt *out, struct kl_admit *work, const struct kl_attempt_of *of);
void kl_attempt_release(struct kl_attempt *attempt);
/**
 * Judge attempt->to as `of` says, and set event, class_, missing, ratio and recovered; or only
 * `waits`, if the verdict comes later.
 */
int kl_admit_judge(struct kl_attempt *attempt, struct kl_admit *work,
		   const struct kl_attempt_of *of);

/*
 * --- a trial that has begun -------------------------------------------------------------------
 */

/**
 * Lock the card for this process. If an earlier process has begun the same trial, set work->seed to
 * the seed of that trial. Return KL_EBUSY if another process is trying the card.
 */
int kl_admit_progress_open(struct kl_admit *work);
void kl_admit_progress_release(struct kl_admit_progress *progress);
/** Store the seed, unless an earlier process began the trial. */
int kl_admit_progress_begin(struct kl_admit *work);
/** Return the card of the arm `wrong` that an earlier process has chosen, or "". */
const char *kl_admit_progress_wrong(const struct kl_admit *work);
int kl_admit_progress_set_wrong(struct kl_admit *work, const char *card);
/** Fill in the verdict of attempt->to if this turn's edit was judged already. */
bool kl_admit_progress_find(struct kl_attempt *attempt, const struct kl_admit *work,
			    const struct kl_attempt_of *of);
/** Store the verdict of attempt->to. */
int kl_admit_progress_put(struct kl_admit *work, const struct kl_attempt *attempt,
			  const struct kl_attempt_of *of);
/**
 * For a runner that judges elsewhere: decide whether `known`, the known verdict on attempt->to or
 * NULL, counts in this trial. Set *stale to true if the edit must be measured again, because `anew`
 * is set and the verdict is older than the trial, or because `noisy` is set and the edit was
 * measured less than three times. Verdicts that do not count are stored.
 */
int kl_admit_progress_stale(bool *stale, struct kl_admit *work, const struct kl_attempt *attempt,
			    const struct kl_attempt_of *of, const struct kl_event *known,
			    bool noisy, bool anew);
/** Forget the trial, which is in the library. */
int kl_admit_progress_end(struct kl_admit *work);

/** Run the trial on the chosen state and write it to the library. */
int kl_admit_trial(struct kl_admit *work);

#endif
