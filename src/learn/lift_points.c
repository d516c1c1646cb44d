/* SPDX-License-Identifier: Apache-2.0 */
/* lift_points - the measured points of a card, with the facts of K_{i-1} at each point */
#include <string.h>

#include "base/error.h"
#include "event/speed.h"
#include "learn/lift_parts.h"

/* Return the newest passing gate event of the surface on the platform, or NULL. */
static const struct kl_event *event_of(const struct kl_map *events,
				       const struct kl_surface *surface, const char *platform)
{
	const struct kl_event *best = NULL;

	for (size_t i = 0; i < events->n; i++) {
		const struct kl_event *event = events->e[i].value;

		if (event->kind == KL_KIND_GATE && event->verdict == KL_VERDICT_PASS &&
		    kl_event_is_for(event, surface->digest, NULL) &&
		    !strcmp(event->place.id, platform) && kl_event_is_newer(event, best))
			best = event;
	}
	return best;
}

int kl_lift_before(struct kl_target *out, const struct kl_taxonomy *tax,
		   const struct kl_map *events, const struct kl_transition *transition)
{
	const struct kl_event *event = event_of(events, transition->from, transition->platform);
	int err = kl_target_init(out, tax, transition->from, transition->platform);

	if (err < 0)
		return err;
	if (event) {
		kl_target_add_event(out, event);
	} else if (transition->had.n) {
		for (size_t i = 0; i < transition->had.n; i++)
			kl_known_member(&out->known, "has", transition->had.v[i]);
		kl_known_close(&out->known, "has");
	}
	return 0;
}

/* --- speed at a point ------------------------------------------------------------------ */

static enum kl_speed speed_at(const struct kl_transition *transition, const struct kl_map *events,
			      const struct kl_ratio *ratio)
{
	const struct kl_event *measured = transition->event->inverse.there ?
						  kl_map_get(events,
							     transition->event->inverse.pair) :
						  transition->event;
	int64_t aa = measured ? measured->profile.aa_ppm : 0;
	const struct kl_comparison at = {
		.ratio.ppm = ratio->ppm,
		.ratio.lo = ratio->lo,
		.ratio.hi = ratio->hi,
	};
	enum kl_speed speed = kl_lift_speed_of(transition);

	if (kl_transition_points(transition) > 1)
		return kl_speed_of(&at, aa);
	return speed != KL_SPEED_NONE ? speed : KL_SPEED_AMBIGUOUS;
}

/*
 * Classify the speed. An ambiguous ratio is KL_LIFT_UNSURE, unless its upper bound is at most
 * KL_LIFT_GAIN.
 */
static enum kl_lift_speed speed_of(enum kl_speed speed, const struct kl_ratio *ratio)
{
	if (speed == KL_SPEED_FAST)
		return KL_LIFT_FASTER;
	if (speed == KL_SPEED_SLOW)
		return KL_LIFT_SLOWER;
	return speed == KL_SPEED_SAME || ratio->hi <= KL_LIFT_GAIN ? KL_LIFT_NO_FASTER :
								     KL_LIFT_UNSURE;
}

static void add_points(struct kl_lift_points *out, const struct kl_map *events, size_t at,
		       const struct kl_transition *transition)
{
	for (size_t i = 0; i < kl_transition_points(transition); i++) {
		struct kl_ratio ratio = { 0 };
		const struct kl_dims *dims;

		if (!kl_transition_point(&ratio, &dims, transition, events, i))
			continue;
		KL_GROW(out->v, out->n + 1, out->alloc);
		out->v[out->n++] = (struct kl_lift_point){
			.t = transition,
			.event = transition->event->id,
			.at = at,
			.point = i + 1,
			.ppm = ratio.ppm,
			.speed = speed_of(speed_at(transition, events, &ratio), &ratio),
		};
	}
}

static bool cites_event(const struct kl_card *card, const char *event)
{
	for (size_t i = 0; i < card->evidence.n; i++)
		if (!strcmp(card->evidence.v[i].event, event))
			return true;
	return false;
}

/* --- trials ----------------------------------------------------------------------------------- */

/* Return how fast a trial's result was; KL_LIFT_UNSURE if the trial says nothing about speed. */
static enum kl_lift_speed trial_speed(const struct kl_card_trial *trial)
{
	if (trial->retracted || trial->foreign || !trial->event || !trial->ratio.ppm)
		return KL_LIFT_UNSURE;
	if (trial->result == KL_RESULT_PASS || !strcmp(trial->class_, "not-enough"))
		return KL_LIFT_FASTER;
	if (strcmp(trial->class_, "not-faster"))
		return KL_LIFT_UNSURE;
	return trial->ratio.hi && trial->ratio.hi < 1000000 ? KL_LIFT_SLOWER : KL_LIFT_NO_FASTER;
}

/*
 * Find the step from the state that the trial edited, on the trial's platform; NULL if there is
 * none.
 */
static const struct kl_transition *step_from(const struct kl_transitions *transitions,
					     const struct kl_card_trial *trial)
{
	for (size_t i = 0; i < transitions->n; i++) {
		const struct kl_transition *transition = &transitions->v[i];
		char before[KL_OID_HEX];

		kl_oid_hex(before, &transition->before);
		if (!strcmp(before, trial->state) && !strcmp(transition->platform, trial->platform))
			return transition;
	}
	return NULL;
}

/* Append the target of K_{i-1}. */
static int add_target(struct kl_lift_points *out, const struct kl_lifter *lifter,
		      const struct kl_transition *transition)
{
	KL_GROW(out->before, out->nbefore + 1, out->before_alloc);
	out->before[out->nbefore] = (struct kl_target){ .known = KL_KNOWN_INIT };
	return kl_lift_before(&out->before[out->nbefore++], lifter->tax, &lifter->t->events,
			      transition);
}

/* A trial is a point at the contract's first case: its ratio is that of the whole contract. */
static int add_trial(struct kl_lift_points *out, const struct kl_lifter *lifter,
		     const struct kl_card_trial *trial)
{
	enum kl_lift_speed speed = trial_speed(trial);
	const struct kl_transition *step = speed == KL_LIFT_UNSURE ? NULL :
								     step_from(lifter->t, trial);
	int err;

	if (!step)
		return 0;
	if ((err = add_target(out, lifter, step)) < 0)
		return err;
	KL_GROW(out->v, out->n + 1, out->alloc);
	out->v[out->n++] = (struct kl_lift_point){
		.t = step,
		.trial = trial,
		.event = trial->event,
		.at = out->nbefore - 1,
		.point = 1,
		.ppm = trial->ratio.ppm,
		.speed = speed,
	};
	return 0;
}

int kl_lift_points(struct kl_lift_points *out, const struct kl_lifter *lifter,
		   const struct kl_card *card)
{
	int err;

	for (size_t i = 0; i < lifter->t->n; i++) {
		const struct kl_transition *transition = &lifter->t->v[i];

		if (!cites_event(card, transition->event->id))
			continue;
		if ((err = add_target(out, lifter, transition)) < 0)
			return err;
		add_points(out, &lifter->t->events, out->nbefore - 1, transition);
	}
	for (size_t i = 0; i < card->ver.n; i++)
		if ((err = add_trial(out, lifter, &card->ver.v[i])) < 0)
			return err;
	out->all = true;
	for (size_t i = 0; i < card->evidence.n; i++)
		out->all &= kl_map_get(&lifter->t->events, card->evidence.v[i].event) != NULL;
	return 0;
}

void kl_lift_points_release(struct kl_lift_points *points)
{
	for (size_t i = 0; i < points->nbefore; i++)
		kl_target_release(&points->before[i]);
	free(points->before);
	free(points->v);
}

struct kl_target *kl_lift_stand(const struct kl_lift_points *points, size_t i)
{
	struct kl_target *target = &points->before[points->v[i].at];

	kl_target_stand(target, points->v[i].point);
	return target;
}

enum kl_truth kl_lift_truth(const struct kl_lift_points *points, size_t i, const char *test)
{
	return kl_target_test(kl_lift_stand(points, i), test, false, NULL);
}
