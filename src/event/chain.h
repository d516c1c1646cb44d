/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_EVENT_CHAIN_H
#define KL_EVENT_CHAIN_H

#include "event/profile.h"

/*
 * chain - puts the ratios of states that follow one another together: K2 against K0 from K1 against
 * K0 and K2 against K1. Logarithms add; the half-widths of the intervals, and the noise of the
 * runs, come from independent measurements and add in quadrature.
 *
 *	struct kl_chain chain = { 0 };
 *
 *	kl_chain_add(&chain, &first, first_aa_ppm);
 *	kl_chain_add(&chain, &second, second_aa_ppm);
 *	whole = kl_chain_ratio(&chain);
 */
struct kl_chain {
	double mid, below, above, noise; /* logarithms; all but `mid` squared */
};

/** `aa_ppm`: of the profile that `link` is from. False: it has no interval, and is left out. */
bool kl_chain_add(struct kl_chain *chain, const struct kl_comparison *link, int64_t aa_ppm);
/** All links as one comparison, without names; its speed is by the rule of speed.h. */
struct kl_comparison kl_chain_ratio(const struct kl_chain *chain);

#endif
