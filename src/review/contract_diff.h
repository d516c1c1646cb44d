/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REVIEW_CONTRACT_DIFF_H
#define KL_REVIEW_CONTRACT_DIFF_H

#include "contract/surface.h"
#include "review/finding.h"

/*
 * contract_diff - reports where a contract became weaker or stronger.
 *
 * A verdict means only as much as its contract requires. So a change must be answered if it lets
 * more kernels pass or makes a slow kernel look better: a looser tolerance; removed points, bands
 * or sweeps; easier inputs; a narrower domain; another oracle; a removed baseline; another
 * interface. Stricter requirements are only noted.
 *
 * `old` is the surface in the base; a review trusts its contract. Surfaces are compared, not only
 * contracts, because a surface also has the oracle's files.
 */
void kl_contract_diff(struct kl_findings *out, const struct kl_surface *old,
		      const struct kl_surface *now);

#endif
