/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_LEARN_LIFT_PARTS_H
#define KL_LEARN_LIFT_PARTS_H

#include "event/speed.h"
#include "learn/lift.h"
#include "retrieve/target.h"
#include "retrieve/taxonomy.h"
#include "rewrite/actions.h"

/* lift_parts - structures and functions shared by the lift files. Inside src/learn only. */
#define KL_LIFT_GAIN 1100000 /* an ambiguous ratio up to this, in millionths, counts as no gain */

struct kl_lift_group {
	const struct kl_mechanism *m;
	const char *action;
	bool plan_only;                 /* only the launch plan changes */
	const struct kl_transition **t; /* best first: verified, then the greater ratio */
	size_t n, alloc;
	bool wins; /* some are fast */
};

struct kl_lifter {
	const struct kl_transitions *t;
	struct kl_mechanisms mechanisms;
	struct kl_actions actions;
	struct kl_taxonomy *tax;
	struct kl_strvec *notes;
};

/** Speed of the state after compared with the state before; KL_SPEED_NONE if not compared. */
enum kl_speed kl_lift_speed_of(const struct kl_transition *transition);
/** Their ratio in millionths; 0 if not compared. */
int64_t kl_lift_ratio_of(const struct kl_transition *transition);
/** Whether the step was derived anew, in isolation, and confirmed by the gate. */
bool kl_lift_is_verified(const struct kl_transition *transition);

/** Fill a new card's intent, mechanism, action, anchor, provided facts and order. */
void kl_lift_word(struct kl_card *card, const struct kl_lifter *lifter,
		  const struct kl_lift_group *group);
/** Add what the group shows: evidence, rows, risks, witnesses, carriers and conditions. */
void kl_lift_learn(struct kl_card *card, const struct kl_lifter *lifter,
		   const struct kl_lift_group *group);

/**
 * Append the gained features that identify the mechanism; incidental ones only if there are no
 * others.
 */
void kl_lift_signs(struct kl_strvec *out, const struct kl_transition *transition,
		   const struct kl_mechanism *mechanism);
/** As kl_lift_signs, with the traits that the step claims as "trait:<name>". */
void kl_lift_delta(struct kl_strvec *out, const struct kl_transition *transition,
		   const struct kl_mechanism *mechanism);

bool kl_lift_is_in(const struct kl_transition *transition, const char *language);
/** Append facts of one transition. */
typedef void kl_lift_facts_fn(struct kl_strvec *out, const struct kl_transition *t,
			      const struct kl_mechanism *m);
/** Get the facts that `of` gives for every transition of a group in a language (NULL: any). */
void kl_lift_common(struct kl_strvec *out, const struct kl_lift_group *group, const char *language,
		    kl_lift_facts_fn *of);
/** Remove from `list` what is not in `other`. */
void kl_lift_keep(struct kl_strvec *list, const struct kl_strvec *other);

/* --- lift_anchor.c --- */

/** Set construct and acts_on of a new card. */
void kl_lift_anchor(struct kl_card *card, const struct kl_lift_group *group);
/** Add the anchor's entry for a language that is new to the card. */
void kl_lift_find(struct kl_card *card, const struct kl_lift_group *group, const char *language);
/**
 * Add constants to the anchor of a language, if it has none and all the card's evidence in that
 * language is in the group.
 */
void kl_lift_constants(struct kl_card *card, const struct kl_lift_group *group,
		       const char *language);

/* --- lift_points.c --- */

enum kl_lift_speed { KL_LIFT_UNSURE, KL_LIFT_FASTER, KL_LIFT_NO_FASTER, KL_LIFT_SLOWER };

/** One measured point of a transition. */
struct kl_lift_point {
	const struct kl_transition *t;
	size_t at;                /* index into kl_lift_points.before */
	size_t point;             /* number in the contract, from 1 (kl_target_stand) */
	enum kl_lift_speed speed; /* of the state after, compared with the one before */
	int64_t ppm;
};

/** The points of every transition that a card cites and that was loaded. */
struct kl_lift_points {
	struct kl_lift_point *v;
	size_t n, alloc;
	struct kl_target *before; /* for each transition: the state before */
	size_t nbefore, before_alloc;
	bool all; /* every transition that the card cites was loaded */
};

/** Collect the measured points of a card. */
int kl_lift_points(struct kl_lift_points *out, const struct kl_lifter *lifter,
		   const struct kl_card *card);
void kl_lift_points_release(struct kl_lift_points *points);
/** The target of the state before the step, set to point i; borrowed. */
struct kl_target *kl_lift_stand(const struct kl_lift_points *points, size_t i);
/** Evaluate a predicate on the state before, at point i. */
enum kl_truth kl_lift_truth(const struct kl_lift_points *points, size_t i, const char *test);

/** Fill a target for K_{i-1} from its gate event, or else from the transition's features. */
int kl_lift_before(struct kl_target *out, const struct kl_taxonomy *tax,
		   const struct kl_map *events, const struct kl_transition *transition);

/* --- lift_useful.c --- */

/** Set `useful` conditions from the card's measured points (docs/formats.md, "Lifting"). */
void kl_lift_useful(struct kl_card *card, const struct kl_lifter *lifter);

/* --- lift_twins.c --- */

/** Whether the id is one that lift makes, from the mechanism and an event of the evidence. */
bool kl_lift_is_lifted(const struct kl_card *card);
/** Whether the card was lifted from transitions of this group only, and is not retracted. */
bool kl_lift_is_twin(const struct kl_card *card, const struct kl_lift_group *group);
/**
 * Whether `left` is preferred to `right` as the card of a group: higher status, then having trials,
 * then the lesser id.
 */
bool kl_lift_outranks(const struct kl_card *left, const struct kl_card *right);
/** Merge `twin` into *card, which keeps its texts, `enables`, provided facts and order. */
int kl_lift_unite(struct kl_card **card, const struct kl_card *twin);

#endif
