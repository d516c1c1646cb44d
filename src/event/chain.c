/* SPDX-License-Identifier: Apache-2.0 */
#include "event/chain.h"

#include <math.h>

#include "event/speed.h"

#define ONE 1e6

bool kl_chain_add(struct kl_chain *chain, const struct kl_comparison *link, int64_t aa_ppm)
{
	double mid, below, above, noise = (double)aa_ppm / ONE;

	if (link->ratio.ppm <= 0 || link->ratio.lo <= 0 || link->ratio.hi <= 0)
		return false;
	mid = log((double)link->ratio.ppm / ONE);
	below = mid - log((double)link->ratio.lo / ONE);
	above = log((double)link->ratio.hi / ONE) - mid;
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
		.ratio.ppm = llround(ONE * exp(chain->mid)),
		.ratio.lo = llround(ONE * exp(chain->mid - sqrt(chain->below))),
		.ratio.hi = llround(ONE * exp(chain->mid + sqrt(chain->above))),
	};

	whole.speed = kl_speed_of(&whole, llround(ONE * sqrt(chain->noise)));
	return whole;
}
