/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WALK_WALK_H
#define KL_WALK_WALK_H

#include "base/buf.h"
#include "base/map.h"
#include "event/vocabulary.h"
#include "text/digest.h"
#include "text/json.h"

/*
 * walk - decides what a walk does next; it opens no files and moves no refs. All that it knows is
 * one JSON document, so that the sequencer can save it in the repository after each change and
 * resume from it after a crash.
 *
 *	expert -> ask -> judge -> ask ...		nothing left, or a limit -> finish
 *	           \-> wait (stepwise) -> judge
 *	judge, accepted -> derive -> judge-derived -> ask ...	if a model is to re-derive
 *	                      ^------------/ a repair
 *
 *	switch (kl_walk_next(w)) {
 *	case KL_WALK_EXPERT:	judge K*;			kl_walk_expert_passed()
 *	case KL_WALK_ASK:	ask the rewriters;		kl_walk_proposed(),
 *				kl_walk_exhausted(), kl_walk_end()
 *	case KL_WALK_JUDGE:	judge the pending proposal;	kl_walk_decide(), then
 *				kl_walk_accepted(), kl_walk_rejected() or kl_walk_held()
 *	case KL_WALK_WAIT:	the user edits;			kl_walk_proposed()
 *	case KL_WALK_DERIVE:	ask for an edit of K_{i-1};	kl_walk_derived(),
 *				kl_walk_attempted() or kl_walk_underived()
 *	case KL_WALK_JUDGE_DERIVED: judge K_i' against K_i;	kl_walk_decide_derived(), then
 *				kl_walk_rederived(), kl_walk_attempted(), kl_walk_measured() or
 *				kl_walk_underived()
 *	case KL_WALK_FINISH:	write the refs
 *	case KL_WALK_AWAIT:	wait for results;		kl_walk_go_on(), then
 *				kl_walk_next() again
 *	}
 *
 * A proposal that removes more than its mechanism is held back while its parts are tried. If no
 * part is accepted, the whole proposal is judged again and, if it passes, accepted as compound.
 *
 * A re-derivation never changes the walk: the step has already been accepted. If it cannot be
 * re-derived, its forward step is the inverse of the accepted one.
 */
struct kl_walk {
	json_t *state; /* the JSON document; docs/formats.md, "operation", lists its members */
};

enum kl_walk_do {
	KL_WALK_EXPERT,
	KL_WALK_ASK,
	KL_WALK_JUDGE,
	KL_WALK_WAIT,
	KL_WALK_FINISH,
	KL_WALK_DERIVE,
	KL_WALK_JUDGE_DERIVED,
	/* wait for a runner's results; the stored "phase" says which phase needs them */
	KL_WALK_AWAIT
};

struct kl_walk_init {
	const char *workload, *name, *platform;
	const char *dir;       /* contract's directory in the repository */
	const char *expert;    /* commit, 40 digits */
	const char *surface;   /* digest of K* */
	const char *tokens;    /* digest of the tokens of K* (rewrite/token_digest.h), or NULL */
	const char *rewriters; /* their names, separated by commas: "history,passes" */
	const char *runner;    /* NULL to read from the config each time a runner is needed */
	/* rewriter that re-derives steps, "chat" or "exec"; NULL if no step is re-derived */
	const char *rederive;
	int64_t step_limit, rejection_limit;
	bool keep_all; /* accept older states that change neither speed nor generality */
};

/** Start a walk whose first phase is to judge the expert. */
void kl_walk_init(struct kl_walk *walk, const struct kl_walk_init *init);
/**
 * Parse the stored document. Return KL_EINVALID if the document is malformed. The message says how.
 */
int kl_walk_parse(struct kl_walk *walk, const char *text, size_t len);
void kl_walk_release(struct kl_walk *walk);

/** Return the next action of the caller. */
enum kl_walk_do kl_walk_next(const struct kl_walk *walk);

/*
 * --- reading --------------------------------------------------------------
 */

/** Return a string member of the document; "" if the member is absent. Borrowed. */
const char *kl_walk_str(const struct kl_walk *walk, const char *key);
/** Return the commit of the current state K_i. */
const char *kl_walk_tip(const struct kl_walk *walk);
/**
 * Return the commit of the last rejection or failed attempt to re-derive. If this walk has none
 * yet, return the tip of the "rejected" ref that an earlier walk of this name left, or "".
 */
const char *kl_walk_rejected_tip(const struct kl_walk *walk);
/**
 * Return the records of the accepted steps, or of the rejections, oldest first; borrowed arrays.
 */
json_t *kl_walk_steps(const struct kl_walk *walk);
json_t *kl_walk_rejections(const struct kl_walk *walk);
/**
 * Return the record of the pending proposal, or of the held one; borrowed. Return NULL if there is
 * none.
 */
json_t *kl_walk_pending(const struct kl_walk *walk);
json_t *kl_walk_held_proposal(const struct kl_walk *walk);
/**
 * Return the facts of K_i: {"features":[...],"traits":{...},"code":"<digest>"}; NULL until the
 * expert passes. Borrowed.
 */
json_t *kl_walk_facts(const struct kl_walk *walk);
/**
 * Return true if a proposal need not be judged: the proposal `id` was rejected or is held;
 * `surface`, the state that it leads to, is a state of this walk or is known to fail; or its edit
 * `edit` was already rejected, on whatever state. If `again` is set, an earlier rejection of `edit`
 * counts only if the edit did not change the machine code.
 */
bool kl_walk_tried(const struct kl_walk *walk, const char *id, const char *surface,
		   const char *edit, bool again);
/**
 * Add the token digests of the states that were visited or are known to fail, with values that are
 * not NULL.
 */
void kl_walk_known(struct kl_map *out, const struct kl_walk *walk);
/**
 * Return true if K_i or an earlier state of this walk has this machine code. Return false for "".
 */
bool kl_walk_has_code(const struct kl_walk *walk, const char *code);

/*
 * --- changes ---------------------------------------------------------------
 */

/**
 * What a walk records about a judged state. The functions below take over the reference `facts`.
 */
struct kl_walk_seen {
	const char *commit; /* commit of the judged state */
	const char *surface;
	const char *event;  /* id of the state's event; "" if the state was not judged */
	const char *class_; /* class of a rejection or of a failed attempt */
	const char *delta;  /* only for an accepted step: the result of kl_walk_delta() */
	int64_t ns;         /* time of one call; 0 if not measured */
	json_t *facts;      /* NULL for a rejection */
};

void kl_walk_expert_passed(struct kl_walk *walk, const struct kl_walk_seen *seen);
/** Make a proposal the pending one, to be judged next. Takes over the reference. */
void kl_walk_proposed(struct kl_walk *walk, json_t *proposal);
void kl_walk_waiting(struct kl_walk *walk);
/**
 * Make the held proposal the pending one, marked as final because none of its parts was accepted.
 * Return false if no proposal is held.
 */
bool kl_walk_exhausted(struct kl_walk *walk);
void kl_walk_accepted(struct kl_walk *walk, const struct kl_walk_seen *seen);
void kl_walk_rejected(struct kl_walk *walk, const struct kl_walk_seen *seen);
/**
 * Count older states that were passed over without judging them (kl_rewrite.skipped, .unreadable).
 */
void kl_walk_skipped(struct kl_walk *walk, size_t equal, size_t unreadable);
/**
 * Start to wait for the results that `what` describes (docs/formats.md, "operation"). Takes over
 * the reference.
 */
void kl_walk_await(struct kl_walk *walk, json_t *what);
/** Stop waiting, since the results may have arrived. */
void kl_walk_go_on(struct kl_walk *walk);
/**
 * Return the description that kl_walk_await() was given; NULL if the walk does not wait. Borrowed.
 */
json_t *kl_walk_awaited(const struct kl_walk *walk);
/** Count a timeout of the model like the rejection of a proposal. */
void kl_walk_timed_out(struct kl_walk *walk);
/** Set the pending proposal aside and ask for its parts. */
void kl_walk_held(struct kl_walk *walk);
/**
 * End the walk with a termination: complete, step-limit, rejection-limit, budget, stopped. The
 * commits of the lineage get `author` ("Name <mail>") and `time` (seconds since 1970) with `offset`
 * (minutes from UTC).
 */
void kl_walk_end(struct kl_walk *walk, const char *termination, int64_t time, const char *author,
		 int offset);
/**
 * Return the termination if a limit is reached, or NULL. The limit on rejections is reached in two
 * ways: by that many counted rejections (rejection.h) since the last accepted step, or by that many
 * rejected proposals and timeouts of a model in the whole walk.
 */
const char *kl_walk_limit(const struct kl_walk *walk);

enum kl_walk_choice { KL_CHOICE_ACCEPT, KL_CHOICE_REJECT, KL_CHOICE_HOLD };

/** What the gate and the facts say about the pending proposal. */
struct kl_walk_ruling {
	enum kl_verdict verdict;
	const char *class_; /* class that the gate gives; "" if there is none */
	/*
	 * the findings from the facts, in this order: the machine code is that of K_i or of an
	 * earlier state; more than the mechanism was removed; no mechanism explains the difference;
	 * facts or sources contradict the claimed mechanism; a compound step is accepted without
	 * being held
	 */
	bool same_code, compound, unknown, contradicted, whole;
	bool no_effect; /* the step is to be folded, since it changes nothing (effect.h) */
};
/** Return the trailer Klineage-Delta of a step that is accepted: "clean", "compound" ... */
const char *kl_walk_delta(const struct kl_walk_ruling *ruling);
/**
 * Decide whether to accept, reject or hold the pending proposal. Only a pass with changed machine
 * code is accepted. A proposal that is compound, or that takes back several commits, is held the
 * first time and accepted the second time, but a compound part of a held proposal is rejected
 * unless it is one commit of several. Sets `class_` for a rejection, `delta` for an accepted step.
 */
enum kl_walk_choice kl_walk_decide(const char **class_, const char **delta,
				   const struct kl_walk *walk, const struct kl_walk_ruling *ruling);

/*
 * --- re-derivation (walk_derive.c) ------------------------------------------
 */

#define KL_WALK_REPAIRS 3      /* maximum attempts to re-derive a step after the first one */
#define KL_WALK_MEASUREMENTS 3 /* maximum measurements of one K_i' if noise hides which is faster */

/**
 * Return the name of the rewriter that re-derives steps; "" if no step is re-derived, or the budget
 * is spent.
 */
const char *kl_walk_rederiver(const struct kl_walk *walk);
/**
 * Return the record of the last step, which is the one to re-derive; NULL if there are no steps
 * yet. Borrowed.
 */
json_t *kl_walk_step(const struct kl_walk *walk);
/**
 * Return the array "attempts" of the record kl_walk_step(); creates the array if it is missing.
 * Borrowed.
 */
json_t *kl_walk_attempts(const struct kl_walk *walk);
/** Return the commit of K_i, the state before the last step. */
const char *kl_walk_goal(const struct kl_walk *walk);
/** Return the id of the event of K_i. */
const char *kl_walk_goal_event(const struct kl_walk *walk);
/**
 * Return the last commit of a K_i'; its second parent is the previous such commit. Return "" if
 * there is none yet.
 */
const char *kl_walk_derived_tip(const struct kl_walk *walk);

/** Make an attempt the pending proposal, to be judged next. Takes over the reference. */
void kl_walk_derived(struct kl_walk *walk, json_t *proposal);
/** Record a measurement whose interval was too wide to decide. Takes over the reference. */
void kl_walk_measured(struct kl_walk *walk, json_t *event);
/** Return the events recorded by kl_walk_measured() for the pending attempt, or NULL; borrowed. */
json_t *kl_walk_measurements(const struct kl_walk *walk);
/**
 * Return how a step was derived, according to `outcome`, the member "rederived" of its record:
 * "rederived"; "unisolated" if its rewriter could see K_i; "inverse" if `outcome` is NULL.
 */
const char *kl_walk_derivation(const json_t *outcome);
/** Record that the attempt passed and that the step is re-derived. */
void kl_walk_rederived(struct kl_walk *walk, const struct kl_walk_seen *seen);
/**
 * Record that the attempt failed. Next, a repair is asked for; after the last repair, the step is
 * recorded as inverse. `seen` may lack commit, surface and event if there was nothing to judge.
 * `why` is the reason why the reply was unusable, or NULL.
 */
void kl_walk_attempted(struct kl_walk *walk, const struct kl_walk_seen *seen, const char *why);
/**
 * Give up re-deriving the step and record it as inverse. `class_` is the reason: "gave-up",
 * "not-shown", "budget" or "skipped". After "budget", no later step is re-derived either. `seen` is
 * NULL if nothing was judged.
 */
void kl_walk_underived(struct kl_walk *walk, const char *class_, const struct kl_walk_seen *seen);

enum kl_walk_derivation {
	KL_DERIVED_TAKE,
	KL_DERIVED_FAIL,    /* the attempt failed; class_ has the reason */
	KL_DERIVED_MEASURE, /* the measurement was too noisy, so it must be repeated */
	KL_DERIVED_UNSHOWN  /* all measurements were too noisy, which is not the model's fault */
};

/** What the gate says about K_i', the attempt to re-derive a step. */
struct kl_walk_derived_ruling {
	enum kl_verdict verdict;
	const char *class_; /* class that the gate gives; "" if there is none */
	bool same_code;     /* K_i' has the machine code of K_i */
	bool unchanged;     /* K_i' has the machine code of K_{i-1} */
	/*
	 * K_i' compared with K_i (event/speed.h); both false if the times are too noisy to decide
	 */
	bool not_slower, slower;
	/* K_i' lacks a primary fact of the step's mechanism that K_i has and K_{i-1} lacks */
	bool missing;
};
/**
 * Decide whether the step is re-derived: K_i' must be correct, have the step's mechanism and not be
 * slower than K_i. If K_i' has the machine code of K_i, it counts as not slower. If it has the
 * machine code of K_{i-1}, it is a failure of class "no-change"; without the mechanism, of class
 * "not-there".
 */
enum kl_walk_derivation kl_walk_decide_derived(const char **class_, const struct kl_walk *walk,
					       const struct kl_walk_derived_ruling *ruling);

#endif
