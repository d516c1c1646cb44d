/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_EVENT_CHAIN_H
#define KL_EVENT_CHAIN_H

#include "event/profile.h"

/*
 * chain - multiplies the ratios of consecutive states. For example, it computes the ratio of K2 to
 * K0 from the ratios of K1 to K0 and of K2 to K1, by adding their logarithms. The half-widths of
 * the intervals and the noise of the runs come from independent measurements, so they add in
 * quadrature.
 *
 *	struct kl_chain chain = { 0 };
 *
 *	kl_chain_add(&chain, &first, first_aa_ppm);
 *	kl_chain_add(&chain, &second, second_aa_ppm);
 *	whole = kl_chain_ratio(&chain);
 */
struct kl_chain {
	/*
	 * `mid`: sum of the logarithms of the ratios; `below`, `above`: sums of the squared
	 * half-widths; `noise`: sum of the squared noise
	 */
	double mid, below, above, noise;
};

/**
 * Add the comparison of a state with the state before it. `aa_ppm` is the noise of the profile that
 * has the comparison. Return false, and add nothing, if the comparison has no interval.
 */
bool kl_chain_add(struct kl_chain *chain, const struct kl_comparison *link, int64_t aa_ppm);
/**
 * Return the product of the ratios as one comparison with its speed (speed.h); `what` and `surface`
 * are "".
 */
struct kl_comparison kl_chain_ratio(const struct kl_chain *chain);

#endif
