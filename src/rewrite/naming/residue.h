/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REWRITE_RESIDUE_H
#define KL_REWRITE_RESIDUE_H

#include "contract/surface.h"

/*
 * residue - finds removed code that is only disabled, by a constant, an #if or a missing call.
 *
 * Only residue that the edit added is found; code that the expert disabled is accepted.
 *
 * The check works on tokens: it finds `if (0)`, conditions on a name that is a constant 0 or 1,
 * conditional directives, and functions that are no longer reachable by name. Residue of other
 * kinds shows in the facts of the compiled code.
 */

/**
 * Find residue in `after` that `before` lacks. Return KL_ENO if there is some. The message says
 * where.
 */
int kl_residue_check(const struct kl_surface *before, const struct kl_surface *after);

#endif
