/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WALK_WALK_H
#define KL_WALK_WALK_H

#include "base/buf.h"
#include "event/vocabulary.h"
#include "text/digest.h"
#include "text/json.h"

/*
 * walk - the state machine of a walk, pure: it opens nothing and moves nothing. Its state is one
 * JSON document, so that the sequencer can keep it in the repository after each transition and go
 * on from there after a crash.
 *
 *	expert -> ask -> judge -> ask ...		nothing left, or a limit -> finish
 *	           \-> wait (stepwise) -> judge
 *	judge, accepted -> derive -> judge-derived -> ask ...	where a model is to re-derive
 *	                      ^------------/ a repair
 *
 *	switch (kl_walk_next(w)) {
 *	case KL_WALK_EXPERT:	judge K*;			kl_walk_expert_passed()
 *	case KL_WALK_ASK:	ask the rewriters;		kl_walk_proposed(),
 *				kl_walk_exhausted(), kl_walk_end()
 *	case KL_WALK_JUDGE:	judge the pending proposal;	kl_walk_decide(), then
 *				kl_walk_accepted(), kl_walk_rejected() or kl_walk_held()
 *	case KL_WALK_WAIT:	a person edits;			kl_walk_proposed()
 *	case KL_WALK_DERIVE:	ask for tau_i on K_{i-1};	kl_walk_derived(), kl_walk_attempted()
 *				or kl_walk_underived()
 *	case KL_WALK_JUDGE_DERIVED: judge K_i' against K_i;	kl_walk_decide_derived(), then
 *				kl_walk_rederived(), kl_walk_attempted(), kl_walk_measured() or
 *				kl_walk_underived()
 *	case KL_WALK_FINISH:	write the refs
 *	case KL_WALK_AWAIT:	results are awaited;		kl_walk_go_on(), and see again
 *	}
 *
 * A proposal that removes more than its mechanism is held back while its
 * parts are tried; when no part stands on its own it is taken as it is, marked compound.
 *
 * A re-derivation never changes the walk: the step is accepted already, and stands as the
 * inverse of itself if it cannot be derived anew.
 */
struct kl_walk {
	json_t *state; /* docs/formats.md, "operation" */
};

enum kl_walk_do {
	KL_WALK_EXPERT,
	KL_WALK_ASK,
	KL_WALK_JUDGE,
	KL_WALK_WAIT,
	KL_WALK_FINISH,
	KL_WALK_DERIVE,
	KL_WALK_JUDGE_DERIVED,
	KL_WALK_AWAIT /* results from elsewhere; behind it is one of the others */
};

struct kl_walk_init {
	const char *workload, *name, *platform;
	const char *dir;       /* contract's directory in the repository */
	const char *expert;    /* commit, 40 digits */
	const char *surface;   /* digest of K* */
	const char *rewriters; /* "history,passes" */
	const char *runner;    /* NULL: the configured one, each time */
	const char *rederive;  /* "chat", "exec": who derives steps anew; NULL: nobody */
	int64_t step_limit, rejection_limit;
};

void kl_walk_init(struct kl_walk *walk, const struct kl_walk_init *init);
/** From the stored document; KL_EINVALID names what is wrong with it. */
int kl_walk_parse(struct kl_walk *walk, const char *text, size_t len);
void kl_walk_release(struct kl_walk *walk);

enum kl_walk_do kl_walk_next(const struct kl_walk *walk);

/* --- reading -------------------------------------------------------------- */

const char *kl_walk_str(const struct kl_walk *walk, const char *key); /* "" if absent */
/** Commit of the present state K_i. */
const char *kl_walk_tip(const struct kl_walk *walk);
/** Last rejection or failed attempt to re-derive, or "". */
const char *kl_walk_rejected_tip(const struct kl_walk *walk);
json_t *kl_walk_steps(const struct kl_walk *walk); /* borrowed arrays */
json_t *kl_walk_rejections(const struct kl_walk *walk);
json_t *kl_walk_pending(const struct kl_walk *walk);       /* NULL: none */
json_t *kl_walk_held_proposal(const struct kl_walk *walk); /* NULL: none */
/**
 * Facts of K_i: {"features":[...],"traits":{...},"code":"<digest>"}; NULL before the expert passed.
 */
json_t *kl_walk_facts(const struct kl_walk *walk);
/**
 * Was this proposal judged, or is the state it leads to visited or known to fail?
 * An edit that changed no machine code once counts as judged everywhere; one that
 * failed on another state counts unless `again`.
 */
bool kl_walk_tried(const struct kl_walk *walk, const char *id, const char *surface,
		   const char *edit, bool again);

/* --- transitions ---------------------------------------------------------- */

/** What a verdict leaves in the records; `facts` is taken. */
struct kl_walk_seen {
	const char *commit; /* that holds the judged state */
	const char *surface;
	const char *event;  /* id */
	const char *class_; /* of a rejection */
	const char *delta;  /* of an accepted step */
	int64_t ns;
	json_t *facts; /* NULL for a rejection */
};

void kl_walk_expert_passed(struct kl_walk *walk, const struct kl_walk_seen *seen);
/** Takes the reference. */
void kl_walk_proposed(struct kl_walk *walk, json_t *proposal);
void kl_walk_waiting(struct kl_walk *walk);
/** Nothing more is proposed: the held proposal becomes pending, as final; false if none is held. */
bool kl_walk_exhausted(struct kl_walk *walk);
void kl_walk_accepted(struct kl_walk *walk, const struct kl_walk_seen *seen);
void kl_walk_rejected(struct kl_walk *walk, const struct kl_walk_seen *seen);
/** What is to be judged waits for results; takes `what` (docs/formats.md, "operation"). */
void kl_walk_await(struct kl_walk *walk, json_t *what);
/** They may be there now. */
void kl_walk_go_on(struct kl_walk *walk);
/** What is waited for, or NULL. */
json_t *kl_walk_awaited(const struct kl_walk *walk);
/** The model did not answer in time: it has had a turn. */
void kl_walk_timed_out(struct kl_walk *walk);
/** Set the pending proposal aside and ask for its parts. */
void kl_walk_held(struct kl_walk *walk);
/** End with this termination: complete, step-limit, rejection-limit, budget, stopped. */
void kl_walk_end(struct kl_walk *walk, const char *termination, int64_t time, const char *author,
		 int offset);
/**
 * Why a limit ends the walk now, or NULL. That of rejections is for those in a row, and for
 * all that a model proposed in this walk, with the times that it did not answer.
 */
const char *kl_walk_limit(const struct kl_walk *walk);

enum kl_walk_choice { KL_CHOICE_ACCEPT, KL_CHOICE_REJECT, KL_CHOICE_HOLD };

/**
 * The rule: only a pass can be accepted; the same machine code is no step; what
 * removes more than its mechanism is held once, and accepted as compound when it
 * comes back. `class_` is set for a rejection, `delta` otherwise.
 */
struct kl_walk_ruling {
	enum kl_verdict verdict;
	const char *class_;                /* of the gate; "": none */
	bool same_code, compound, unknown; /* of the facts */
};
enum kl_walk_choice kl_walk_decide(const char **class_, const char **delta,
				   const struct kl_walk *walk, const struct kl_walk_ruling *ruling);

/* --- re-derivation (walk_derive.c) ------------------------------------------ */

#define KL_WALK_REPAIRS 3      /* after the first attempt */
#define KL_WALK_MEASUREMENTS 3 /* of one K_i', while noise hides the answer */

/** Who derives steps anew in this walk; "" : nobody, or nobody any more. */
const char *kl_walk_rederiver(const struct kl_walk *walk);
/** The record of the step that is derived: the last one. Its "attempts", an array. */
json_t *kl_walk_step(const struct kl_walk *walk);
json_t *kl_walk_attempts(const struct kl_walk *walk);
/** Commit of K_i, where the step that is derived came from. */
const char *kl_walk_goal(const struct kl_walk *walk);
/** Id of its event. */
const char *kl_walk_goal_event(const struct kl_walk *walk);
/** The last commit of a K_i', each of which stands on the one before, too; "" : none yet. */
const char *kl_walk_derived_tip(const struct kl_walk *walk);

/** An attempt is there to be judged. Takes the reference. */
void kl_walk_derived(struct kl_walk *walk, json_t *proposal);
/** It was measured, and the interval was too wide to say; takes the event. */
void kl_walk_measured(struct kl_walk *walk, json_t *event);
/** Those measurements: events. */
json_t *kl_walk_measurements(const struct kl_walk *walk);
/**
 * "rederived"; "unisolated": who did it could see K_i; "inverse": nobody did, `outcome`, the step's
 * member "rederived", is NULL.
 */
const char *kl_walk_derivation(const json_t *outcome);
/** It holds: the step is re-derived. */
void kl_walk_rederived(struct kl_walk *walk, const struct kl_walk_seen *seen);
/**
 * It does not: a repair is asked for, or after the last one the step stands as inverse. `seen`
 * may lack commit, surface and event when there was nothing to judge; `why` is for the repair.
 */
void kl_walk_attempted(struct kl_walk *walk, const struct kl_walk_seen *seen, const char *why);
/**
 * No more attempts at this step, it stands as inverse: "gave-up", "not-shown", "budget", "skipped".
 * `seen` NULL: nothing was judged. After "budget" no later step is tried either.
 */
void kl_walk_underived(struct kl_walk *walk, const char *class_, const struct kl_walk_seen *seen);

enum kl_walk_derivation {
	KL_DERIVED_TAKE,
	KL_DERIVED_FAIL,    /* class_ says how */
	KL_DERIVED_MEASURE, /* once more: noise */
	KL_DERIVED_UNSHOWN  /* noise, as often as it was measured; not the model's fault */
};

/**
 * The rule: correct, and not slower than K_i (event/speed.h). The same machine code as K_i is
 * not slower; that of K_{i-1} is no step forward.
 */
struct kl_walk_derived_ruling {
	enum kl_verdict verdict;
	const char *class_;      /* of the gate; "": none */
	bool same_code;          /* as K_i */
	bool unchanged;          /* since K_{i-1} */
	bool not_slower, slower; /* neither: the interval does not say */
};
enum kl_walk_derivation kl_walk_decide_derived(const char **class_, const struct kl_walk *walk,
					       const struct kl_walk_derived_ruling *ruling);

#endif
