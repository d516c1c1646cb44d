/* SPDX-License-Identifier: Apache-2.0 */
#include "walk/effect.h"

#include <string.h>

#include "event/speed.h"

#define ONE 1e6         /* a ratio of 1 in ppm */
#define NEGLIGIBLE 1.05 /* an ambiguous interval within this factor of 1 shows no difference */

const char *kl_effect_name(enum kl_effect effect)
{
	static const char *const names[] = { "", "speed", "generality", "nothing" };

	return names[effect];
}

static bool is_different(enum kl_speed speed)
{
	return speed == KL_SPEED_FAST || speed == KL_SPEED_SLOW;
}

/* Return true if a case, or the mean of the cases, is fast or slow. */
static bool has_speed(const struct kl_profile *profile, const struct kl_comparison *parent)
{
	bool found = is_different(parent->speed);

	for (size_t i = 0; i < profile->npoint; i++) {
		const struct kl_profile_point *point = &profile->point[i];
		const struct kl_comparison *one = kl_comparisons_parent(&point->vs);

		found = found || (one && is_different(kl_speed_of(one, point->aa_ppm)));
	}
	return found;
}

/*
 * Return true if the kernel failed at a point that is not a case. It then passed at the cases,
 * which are judged first.
 */
static bool is_narrower(const struct kl_event *event)
{
	const json_t *failure = json_object_get(event->correct, "failure");
	const char *point = kl_json_str_or(failure, "point", "");

	switch (event->failure) {
	case KL_FAILURE_HANG:
	case KL_FAILURE_FAULT:
	case KL_FAILURE_WRONG_ALL:
	case KL_FAILURE_WRONG_EDGE:
		return *point && strncmp(point, "case", 4) != 0;
	default:
		return false;
	}
}

/* Return true if the interval excludes every difference that matters. */
static bool is_narrow(const struct kl_ratio *ratio)
{
	return (double)ratio->lo >= ONE / NEGLIGIBLE && (double)ratio->hi <= ONE * NEGLIGIBLE;
}

enum kl_effect kl_effect_of(const struct kl_event *simpler)
{
	const struct kl_comparison *parent = kl_comparisons_parent(&simpler->profile.vs);

	if (simpler->verdict == KL_VERDICT_FAIL && is_narrower(simpler))
		return KL_EFFECT_GENERALITY;
	if (simpler->verdict != KL_VERDICT_PASS || !simpler->profile.there || !parent)
		return KL_EFFECT_UNKNOWN;
	if (has_speed(&simpler->profile, parent))
		return KL_EFFECT_SPEED;
	return parent->speed == KL_SPEED_SAME || is_narrow(&parent->ratio) ? KL_EFFECT_NOTHING :
									     KL_EFFECT_UNKNOWN;
}

bool kl_effect_is_hidden(const struct kl_event *simpler)
{
	const struct kl_comparison *parent = kl_comparisons_parent(&simpler->profile.vs);

	return simpler->verdict == KL_VERDICT_PASS && simpler->profile.there && parent &&
	       kl_effect_of(simpler) == KL_EFFECT_UNKNOWN;
}
