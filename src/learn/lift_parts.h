/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_LEARN_LIFT_PARTS_H
#define KL_LEARN_LIFT_PARTS_H

#include "event/speed.h"
#include "learn/lift.h"
#include "retrieve/target.h"
#include "retrieve/taxonomy.h"
#include "rewrite/actions.h"

/* lift_parts - what the lifter's files share. Inside src/learn only. */
#define KL_LIFT_GAIN 1100000 /* what noise hides is no gain to speak of, up to here */

struct kl_lift_group {
	const struct kl_mechanism *m;
	const char *action;
	bool plan_only;                 /* only the launch plan changes */
	const struct kl_transition **t; /* best first: verified, then the greater ratio */
	size_t n, alloc;
	bool wins; /* some were fast */
};

struct kl_lifter {
	const struct kl_transitions *t;
	struct kl_mechanisms mechanisms;
	struct kl_actions actions;
	struct kl_taxonomy *tax;
	struct kl_strvec *notes;
};

/** Against the state before; NONE: not compared. */
enum kl_speed kl_lift_speed_of(const struct kl_transition *transition);
/** In ppm; 0: not compared. */
int64_t kl_lift_ratio_of(const struct kl_transition *transition);
/** Derived anew, in isolation, and confirmed by the gate? */
bool kl_lift_is_verified(const struct kl_transition *transition);

/** A new card's words: intent, anchor, carriers, conditions, scope. */
void kl_lift_word(struct kl_card *card, const struct kl_lifter *lifter,
		  const struct kl_lift_group *group);
/** What a card, new or old, learns from the group: evidence, rows, risks, witnesses, languages. */
void kl_lift_learn(struct kl_card *card, const struct kl_lifter *lifter,
		   const struct kl_lift_group *group);

/**
 * Features that came and that the mechanism is known by; incidental ones only where there is no
 * other.
 */
void kl_lift_signs(struct kl_strvec *out, const struct kl_transition *transition,
		   const struct kl_mechanism *mechanism);
/** What a step brings: those, and the traits that it claims, as "trait:<name>". */
void kl_lift_delta(struct kl_strvec *out, const struct kl_transition *transition,
		   const struct kl_mechanism *mechanism);

bool kl_lift_is_in(const struct kl_transition *transition, const char *language);
/** What all of a group have; NULL language: any. */
typedef void kl_lift_facts_fn(struct kl_strvec *out, const struct kl_transition *t,
			      const struct kl_mechanism *m);
void kl_lift_common(struct kl_strvec *out, const struct kl_lift_group *group, const char *language,
		    kl_lift_facts_fn *of);
/** Keep what is in both. */
void kl_lift_keep(struct kl_strvec *list, const struct kl_strvec *other);

/* --- lift_anchor.c --- */

/** What code a new card is about. */
void kl_lift_anchor(struct kl_card *card, const struct kl_lift_group *group);
/** What to look for in a language that the card did not know. */
void kl_lift_find(struct kl_card *card, const struct kl_lift_group *group, const char *language);
/**
 * Constants, where the card names none of a language and the group is all that it was learned from
 * there.
 */
void kl_lift_constants(struct kl_card *card, const struct kl_lift_group *group,
		       const char *language);

/* --- lift_points.c --- */

enum kl_lift_speed { KL_LIFT_UNSURE, KL_LIFT_FASTER, KL_LIFT_NO_FASTER, KL_LIFT_SLOWER };

/** One measured point of a transition. */
struct kl_lift_point {
	const struct kl_transition *t;
	size_t at;                /* index into `before` */
	size_t point;             /* of the contract, from 1 (kl_target_stand) */
	enum kl_lift_speed speed; /* of the state after, against the one before */
	int64_t ppm;
};

/** Those of every transition that a card cites and that is at hand. */
struct kl_lift_points {
	struct kl_lift_point *v;
	size_t n, alloc;
	struct kl_target *before; /* of each transition: what is known of the state before */
	size_t nbefore, before_alloc;
	bool all; /* none that the card cites is missing */
};

int kl_lift_points(struct kl_lift_points *out, const struct kl_lifter *lifter,
		   const struct kl_card *card);
void kl_lift_points_release(struct kl_lift_points *points);
/** What was known before, at point i. */
struct kl_target *kl_lift_stand(const struct kl_lift_points *points, size_t i);
enum kl_truth kl_lift_truth(const struct kl_lift_points *points, size_t i, const char *test);

/** K_{i-1}, with what the gate measured of it; else with the facts that the walk knew. */
int kl_lift_before(struct kl_target *out, const struct kl_taxonomy *tax,
		   const struct kl_map *events, const struct kl_transition *transition);

/* --- lift_useful.c --- */

/** When it is worth it: what the card's points show (docs/formats.md, "Lifting"). */
void kl_lift_useful(struct kl_card *card, const struct kl_lifter *lifter);

/* --- lift_twins.c --- */

/** Was its id given by a lifter: the mechanism, and an event of its own evidence? */
bool kl_lift_is_lifted(const struct kl_card *card);
/** Lifted elsewhere from some of these very transitions, and of nothing else? */
bool kl_lift_is_twin(const struct kl_card *card, const struct kl_lift_group *group);
/**
 * Of two that know of a group, which learns: the one that got farther, then the one of the lesser
 * id.
 */
bool kl_lift_outranks(const struct kl_card *left, const struct kl_card *right);
/** `*card` also says what its twin says; its own words stay. */
int kl_lift_unite(struct kl_card **card, const struct kl_card *twin);

#endif
