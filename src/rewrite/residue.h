/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REWRITE_RESIDUE_H
#define KL_REWRITE_RESIDUE_H

#include "contract/surface.h"

/*
 * residue - finds removed code that is only disabled: behind a constant, an #if, or in a function
 * that nobody calls. Only what the edit itself brought is looked for: what the expert wrote in
 * that way is the expert's.
 *
 * It reads tokens, not C: it finds `if (0)`, conditions on a name that is a constant 0 or 1,
 * conditional directives, and functions that were reached by name and no longer are. The
 * compiled facts say the rest.
 */

/** KL_ENO: a sentence that says where; 0: nothing found. */
int kl_residue_check(const struct kl_surface *before, const struct kl_surface *after);

#endif
