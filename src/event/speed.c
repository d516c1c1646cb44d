/* SPDX-License-Identifier: Apache-2.0 */
#include "event/speed.h"

#include <math.h>

#define ONE 1000000.0
#define FAR 0.01   /* a fast or slow ratio differs from 1 by more than this */
#define SLACK 0.02 /* a kernel that is "not slower" may take this much more time */
#define WIDE 2     /* an interval whose ends differ by more than this factor may be no figure */
#define NOISE 0.1  /* if 3 A/A exceeds this, an interval within the margin proves nothing */

static double noise_of(int64_t aa_ppm)
{
	return 3 * (double)aa_ppm / ONE;
}

enum kl_speed kl_speed_of(const struct kl_comparison *comparison, int64_t aa_ppm)
{
	double far = 1 + fmax(FAR, noise_of(aa_ppm));
	double lo = (double)comparison->ratio.lo / ONE, hi = (double)comparison->ratio.hi / ONE;

	if (lo > far)
		return KL_SPEED_FAST;
	if (hi < 1 / far)
		return KL_SPEED_SLOW;
	return far <= 1 + NOISE && lo >= 1 / far && hi <= far ? KL_SPEED_SAME : KL_SPEED_AMBIGUOUS;
}

enum kl_speed kl_speed_of_mean(const struct kl_comparison *mean, int64_t aa_ppm, bool one_is_slow)
{
	enum kl_speed speed = kl_speed_of(mean, aa_ppm);

	return one_is_slow && speed != KL_SPEED_SLOW ? KL_SPEED_AMBIGUOUS : speed;
}

/* Return true if a ratio of `bound_ppm` means that the kernel is slower by at most `slack`. */
static bool is_within_slack(int64_t bound_ppm, int64_t aa_ppm, double slack)
{
	return ONE / (double)bound_ppm <= 1 + fmax(slack, noise_of(aa_ppm));
}

static bool is_beyond(const struct kl_comparison *comparison, int64_t aa_ppm, double slack)
{
	return comparison && comparison->ratio.hi > 0 &&
	       !is_within_slack(comparison->ratio.hi, aa_ppm, slack);
}

static bool is_slower_by(const struct kl_profile *profile, double slack)
{
	const struct kl_comparison *parent = kl_comparisons_parent(&profile->vs);
	bool slower = is_beyond(parent, profile->aa_ppm, slack);

	for (size_t i = 0; parent && i < profile->npoint; i++)
		slower |= is_beyond(kl_comparisons_parent(&profile->point[i].vs), profile->aa_ppm,
				    slack);
	return slower;
}

bool kl_speed_is_slower(const struct kl_profile *profile)
{
	return is_slower_by(profile, SLACK);
}

static bool is_not_slower_by(const struct kl_profile *profile, double slack)
{
	const struct kl_comparison *parent = kl_comparisons_parent(&profile->vs);

	if (!parent || parent->ratio.lo <= 0 ||
	    !is_within_slack(parent->ratio.lo, profile->aa_ppm, slack))
		return false;
	return !is_slower_by(profile, slack) &&
	       (noise_of(profile->aa_ppm) <= NOISE ||
		kl_speed_of(parent, profile->aa_ppm) == KL_SPEED_FAST);
}

bool kl_speed_is_not_slower(const struct kl_profile *profile)
{
	return is_not_slower_by(profile, SLACK);
}

bool kl_speed_is_within(const struct kl_profile *profile, int64_t within_ppm)
{
	return is_not_slower_by(profile, (double)within_ppm / ONE);
}

bool kl_speed_is_useless(const struct kl_ratio *ratio)
{
	double lo = (double)ratio->lo / ONE, hi = (double)ratio->hi / ONE;
	double proved = lo > 1 ? lo : hi < 1 && hi > 0 ? 1 / hi : 1;

	return ratio->ppm > 0 && (ratio->lo <= 0 || hi > lo * fmax(WIDE, proved));
}
