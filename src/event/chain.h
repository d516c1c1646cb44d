/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_EVENT_CHAIN_H
#define KL_EVENT_CHAIN_H

#include "event/profile.h"

/*
 * chain - multiplies the ratios of consecutive states: K2 against K0 from K1 against K0 and K2
 * against K1. Logarithms are added. The half-widths of the intervals and the noise of the runs come
 * from independent measurements, so they add in quadrature.
 *
 *	struct kl_chain chain = { 0 };
 *
 *	kl_chain_add(&chain, &first, first_aa_ppm);
 *	kl_chain_add(&chain, &second, second_aa_ppm);
 *	whole = kl_chain_ratio(&chain);
 */
struct kl_chain {
	double mid, below, above, noise; /* sums of logarithms; of squares except for `mid` */
};

/**
 * Add a link; `aa_ppm` is that of its profile. Returns false, and skips it, if it has no interval.
 */
bool kl_chain_add(struct kl_chain *chain, const struct kl_comparison *link, int64_t aa_ppm);
/** The product as one comparison without names; its speed follows the rules of speed.h. */
struct kl_comparison kl_chain_ratio(const struct kl_chain *chain);

#endif
