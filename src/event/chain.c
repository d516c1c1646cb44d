/* SPDX-License-Identifier: Apache-2.0 */
#include "event/chain.h"

#include <math.h>

#include "event/speed.h"

#define ONE 1e6

bool kl_chain_add(struct kl_chain *chain, const struct kl_comparison *link, int64_t aa_ppm)
{
	double mid, below, above, noise = (double)aa_ppm / ONE;

	if (link->ratio_ppm <= 0 || link->lo_ppm <= 0 || link->hi_ppm <= 0)
		return false;
	mid = log((double)link->ratio_ppm / ONE);
	below = mid - log((double)link->lo_ppm / ONE);
	above = log((double)link->hi_ppm / ONE) - mid;
	chain->mid += mid;
	chain->below += below * below;
	chain->above += above * above;
	chain->noise += noise * noise;
	return true;
}

struct kl_comparison kl_chain_ratio(const struct kl_chain *chain)
{
	struct kl_comparison whole = {
		.what = "",
		.surface = "",
		.ratio_ppm = llround(ONE * exp(chain->mid)),
		.lo_ppm = llround(ONE * exp(chain->mid - sqrt(chain->below))),
		.hi_ppm = llround(ONE * exp(chain->mid + sqrt(chain->above))),
	};

	whole.speed = kl_speed_of(&whole, llround(ONE * sqrt(chain->noise)));
	return whole;
}
