/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_PROBE_WIDE_H
#define KL_PROBE_WIDE_H

#include "contract/surface.h"
#include "probe/points.h"

/* wide - makes the contracts of a probe. Inside src/probe only. */

/**
 * Copy the surface, with a contract that has no domain and whose `values` allow only one class of
 * special values. Return KL_EINVALID if the contract cannot be rewritten.
 */
int kl_probe_widen(struct kl_surface **out, const struct kl_surface *surface,
		   enum kl_probe_values values);

#endif
