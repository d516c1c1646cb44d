/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_LEARN_LIFT_PARTS_H
#define KL_LEARN_LIFT_PARTS_H

#include "event/speed.h"
#include "learn/lift.h"
#include "retrieve/target.h"
#include "retrieve/taxonomy.h"
#include "rewrite/actions.h"

/* lift_parts - structures and functions shared by the lift files. Inside src/learn only. */
/* an ambiguous ratio counts as no gain if its upper bound is at most this, in millionths */
#define KL_LIFT_GAIN 1100000

struct kl_lift_group {
	const struct kl_mechanism *m; /* of an unlisted group: `own` */
	const char *action;
	/*
	 * the steps have no entry in the list of mechanisms; `own` is then the substitute: the
	 * author's name or the action, and the facts that the first step gained
	 */
	bool unlisted;
	struct kl_mechanism *own;
	bool plan_only;                 /* the transitions change nothing but the launch plan */
	const struct kl_transition **t; /* best first: verified transitions, then by ratio */
	size_t n, alloc;
	bool wins; /* at least one transition is fast */
};

struct kl_lift_groups {
	struct kl_lift_group *v;
	size_t n, alloc;
};

struct kl_lifter {
	const struct kl_transitions *t;
	struct kl_mechanisms mechanisms;
	struct kl_actions actions;
	struct kl_taxonomy *tax;
	struct kl_strvec *notes;
	size_t unfit; /* number of cards that could not be written */
};

/**
 * Return the result of comparing the speed of K_i with that of K_{i-1}; KL_SPEED_NONE if they were
 * not compared.
 */
enum kl_speed kl_lift_speed_of(const struct kl_transition *transition);
/** Return the speed of K_i divided by that of K_{i-1}, in millionths; 0 if not compared. */
int64_t kl_lift_ratio_of(const struct kl_transition *transition);
/** Check that the step was re-derived in isolation, and that the gate confirmed the result. */
bool kl_lift_is_verified(const struct kl_transition *transition);

/**
 * Group the steps by mechanism, action and whether they change only the launch plan, sorted by name.
 * A step from which no card may be made is left out, with a note of the reason.
 */
void kl_lift_groups_make(struct kl_lift_groups *out, struct kl_lifter *lifter);
void kl_lift_groups_release(struct kl_lift_groups *groups);

/** Fill a new card's intent, mechanism, action, anchor, provided facts and prior facts. */
void kl_lift_word(struct kl_card *card, const struct kl_lifter *lifter,
		  const struct kl_lift_group *group);
/** Add the group's evidence, rows, risks, witnesses, carriers and conditions to the card. */
void kl_lift_learn(struct kl_card *card, const struct kl_lifter *lifter,
		   const struct kl_lift_group *group);

/**
 * Append the gained features that identify the mechanism; if there are none, the incidental
 * features that were gained.
 */
void kl_lift_signs(struct kl_strvec *out, const struct kl_transition *transition,
		   const struct kl_mechanism *mechanism);
/**
 * Append the same features as kl_lift_signs(), and the traits that the step claims as
 * "trait:<name>".
 */
void kl_lift_delta(struct kl_strvec *out, const struct kl_transition *transition,
		   const struct kl_mechanism *mechanism);

bool kl_lift_is_in(const struct kl_transition *transition, const char *language);
/** A function that appends facts of one transition. */
typedef void kl_lift_facts_fn(struct kl_strvec *out, const struct kl_transition *t,
			      const struct kl_mechanism *m);
/**
 * Get the facts that `of` appends for every transition of the group in `language` (NULL for any
 * language).
 */
void kl_lift_common(struct kl_strvec *out, const struct kl_lift_group *group, const char *language,
		    kl_lift_facts_fn *of);
/** Remove the entries of `list` that are not in `other`. */
void kl_lift_keep(struct kl_strvec *list, const struct kl_strvec *other);

/*
 * --- conditions for being right (lift_sound.c) ------------------------------------------------
 */

/** Append a condition to the card's `sound` list; takes ownership of its strings. */
void kl_lift_add_sound(struct kl_card *card, struct kl_card_pre pre);
/**
 * Add a condition that requires the platform's capabilities. The condition applies only to
 * `language`, because in another language the card may not need these capabilities.
 */
void kl_lift_need_platform(struct kl_card *card, const struct kl_lifter *lifter,
			   const struct kl_lift_group *group, const char *language);
/** Add a condition for each entry that the launch plans' `require` gained in the group's steps. */
void kl_lift_need_plan(struct kl_card *card, const struct kl_lifter *lifter,
		       const struct kl_lift_group *group, const char *language);
/**
 * Add a condition that is not tested: the domain that the contracts of the transition's operator
 * and language promise. Add none if the card already has a step with this operator and language.
 * Call it before the transition's rows are added.
 */
void kl_lift_untested(struct kl_card *card, const struct kl_lift_group *group,
		      const struct kl_transition *transition);
/** Release the conditions that earlier versions of lift made of contracts' domains. */
void kl_lift_release_domains(struct kl_card *card);

/** Append lines about the step's changes to its sources and its launch plan (lift_also.c). */
void kl_lift_also(struct kl_strvec *out, const struct kl_transition *transition);

/*
 * --- the anchor of a card (lift_anchor.c) -----------------------------------------------------
 */

/** Set `construct` and `acts_on` of a new card. */
void kl_lift_anchor(struct kl_card *card, const struct kl_lift_group *group);
/** Add an entry for `language` to the anchor, which must not have such an entry yet. */
void kl_lift_find(struct kl_card *card, const struct kl_lift_group *group, const char *language);
/**
 * Add constants to the anchor's entry for `language`. Add none if the entry has some, or if some of
 * the card's evidence in that language is not in the group.
 */
void kl_lift_constants(struct kl_card *card, const struct kl_lift_group *group,
		       const char *language);

/*
 * --- measured points (lift_points.c) ----------------------------------------------------------
 */

enum kl_lift_speed { KL_LIFT_UNSURE, KL_LIFT_FASTER, KL_LIFT_NO_FASTER, KL_LIFT_SLOWER };

/** One measured point of a transition, or of a trial of the card. */
struct kl_lift_point {
	/*
	 * the transition; for a trial, the step of a lineage from the state that the trial edited
	 */
	const struct kl_transition *t;
	const struct kl_card_trial *trial; /* NULL if the point is of the transition */
	const char *event;                 /* that measured the point */
	size_t at;    /* index into kl_lift_points.before: the target of K_{i-1} */
	size_t point; /* number of the point in the contract, from 1 (kl_target_stand) */
	enum kl_lift_speed speed; /* speed of K_i compared with K_{i-1} at this point */
	int64_t ppm;
};

/**
 * The measured points of all loaded transitions that a card cites, and of its own trials, passed
 * and failed, on states that were loaded.
 */
struct kl_lift_points {
	struct kl_lift_point *v;
	size_t n, alloc;
	struct kl_target *before; /* targets of K_{i-1}, one per transition */
	size_t nbefore, before_alloc;
	bool all; /* every transition that the card cites was loaded */
};

/** Collect the measured points of a card. */
int kl_lift_points(struct kl_lift_points *out, const struct kl_lifter *lifter,
		   const struct kl_card *card);
void kl_lift_points_release(struct kl_lift_points *points);
/** Set the target of K_{i-1} to the dims of point i, and return it (borrowed). */
struct kl_target *kl_lift_stand(const struct kl_lift_points *points, size_t i);
/** Evaluate a predicate for K_{i-1} at point i. */
enum kl_truth kl_lift_truth(const struct kl_lift_points *points, size_t i, const char *test);

/**
 * Fill a target for K_{i-1} from its newest passing event or, if there is none, from the features
 * in the transition.
 */
int kl_lift_before(struct kl_target *out, const struct kl_taxonomy *tax,
		   const struct kl_map *events, const struct kl_transition *transition);

/*
 * --- useful conditions (lift_useful.c) --------------------------------------------------------
 */

/** The state of a search for conditions in the points of a card in one language. */
struct kl_lift_finder {
	struct kl_card *card;
	const struct kl_lifter *lifter;
	const struct kl_mechanism *mechanism; /* mechanism of the card, or NULL */
	const struct kl_lift_points *points;
	const char *language; /* consider only points in this language */
};

bool kl_lift_is_here(const struct kl_lift_finder *finder, size_t i);
bool kl_lift_is_faster(const struct kl_lift_finder *finder, size_t i);
bool kl_lift_not_faster(const struct kl_lift_finder *finder, size_t i);
/**
 * Add a condition with the id "<id>-<of>" for finder->language. The condition is true in the card's
 * other languages. Return false if the condition is false at a point that was faster.
 */
bool kl_lift_add_clause(const struct kl_lift_finder *finder, const char *id, const char *of,
			const char *test, const char *text);
/**
 * Derive bounds of sizes and extents; of profile figures only if there are none, and not if `some`
 * other condition was found (lift_bounds.c).
 */
void kl_lift_bounds(const struct kl_lift_finder *finder, bool some);

/** Derive conditions in `useful` from the card's measured points (docs/formats.md, "Lifting"). */
void kl_lift_useful(struct kl_card *card, const struct kl_lifter *lifter);

/* --- cards lifted from the same steps (lift_twins.c) ------------------------------------------ */

/**
 * Check that lift made the card, that is, that lift would make the card's id from its mechanism and
 * one of its evidence's events.
 */
bool kl_lift_is_lifted(const struct kl_card *card);
/** Check that the card was lifted only from transitions of this group and is not retracted. */
bool kl_lift_is_twin(const struct kl_card *card, const struct kl_lift_group *group);
/**
 * Return true if `left` is preferred to `right` as the card of a group: first by higher status,
 * then by having trials, then by lesser id.
 */
bool kl_lift_outranks(const struct kl_card *left, const struct kl_card *right);
/**
 * Merge `twin` into *card. The texts, `enables`, provided facts and order of *card do not change.
 */
int kl_lift_unite(struct kl_card **card, const struct kl_card *twin);

#endif
