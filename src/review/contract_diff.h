/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REVIEW_CONTRACT_DIFF_H
#define KL_REVIEW_CONTRACT_DIFF_H

#include "contract/surface.h"
#include "review/finding.h"

/*
 * contract_diff - how a contract became weaker or stronger. A verdict is worth what the contract
 * asks, so everything that lets more kernels pass, or makes a slow one look better, must be
 * answered: tolerance loosened, points, bands, seeds of difficulty and sweeps gone, inputs tamer,
 * the domain narrower, another oracle, no baseline, another interface. What asks for more is noted.
 *
 * `old` is the base's: a review takes the contract from there. Both are whole surfaces, since the
 * oracle's files are part of the promise.
 */
void kl_contract_diff(struct kl_findings *out, const struct kl_surface *old,
		      const struct kl_surface *now);

#endif
