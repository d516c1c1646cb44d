/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_EVENT_CHAIN_H
#define KL_EVENT_CHAIN_H

#include "event/profile.h"

/*
 * chain - multiplies the ratios of consecutive states. For example, it computes how fast K2 is
 * against K0 from K1 against K0 and K2 against K1. Logarithms are added. The half-widths of the
 * intervals and the noise of the runs come from independent measurements, so they add in
 * quadrature.
 *
 *	struct kl_chain chain = { 0 };
 *
 *	kl_chain_add(&chain, &first, first_aa_ppm);
 *	kl_chain_add(&chain, &second, second_aa_ppm);
 *	whole = kl_chain_ratio(&chain);
 */
struct kl_chain {
	/* `mid`: sum of logarithms of ratios; the others: sums of squared half-widths and noise */
	double mid, below, above, noise;
};

/**
 * Add the comparison of a state with the one before. `aa_ppm` is the noise of the profile that has
 * the comparison. Returns false, and adds nothing, if the comparison has no interval.
 */
bool kl_chain_add(struct kl_chain *chain, const struct kl_comparison *link, int64_t aa_ppm);
/** Return the product as one comparison with `what` and `surface` "" and its speed (speed.h). */
struct kl_comparison kl_chain_ratio(const struct kl_chain *chain);

#endif
