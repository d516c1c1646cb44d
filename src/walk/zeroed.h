/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WALK_ZEROED_H
#define KL_WALK_ZEROED_H

#include "walk/sequencer.h"

/*
 * zeroed - finds out whether a wrong state is right if its outputs start at zero. Older kernels
 * often add to outputs that their callers cleared; a contract whose outputs are poisoned before
 * each call rejects them, though only their generality differs.
 */

/**
 * Judge a state under its contract with `init: zeros` for every output, and set *out to true if it
 * passes. *out is also false if no output would change, if the walk is speculative, or if the judge
 * does not support this. The verdict is not recorded.
 */
int kl_zeroed_is_right(bool *out, struct kl_sequencer *sequencer, const struct kl_surface *state);

#endif
