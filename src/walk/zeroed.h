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
 * Judge a state under its contract with `init: zeros` for every output. *out is false if no output
 * would change, if the judge is not at hand, or if the state fails there, too. The verdict is only
 * told, never recorded.
 */
int kl_zeroed_is_right(bool *out, struct kl_sequencer *sequencer, const struct kl_surface *state);

#endif
