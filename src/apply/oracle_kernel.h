/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_APPLY_ORACLE_KERNEL_H
#define KL_APPLY_ORACLE_KERNEL_H

#include "contract/surface.h"

/*
 * oracle_kernel - the contract's oracle, made into a kernel to begin with. It is used where there
 * is no kernel, or none that is right.
 *
 * What the gate holds against every kernel, the oracle in the contract's arithmetic, is itself a
 * kernel: its text with float for kl_real, and the language's words for those of the oracle (struct
 * kl_oracle_words), under the surface's entry or with the oracle's plan. Nothing is trusted for it:
 * the gate judges it.
 *
 * It stands in the first source that can hold it; other sources hold a comment. Files that the
 * oracle includes are written out in their place.
 */

/**
 * For the contract at `dir` of a tree; what its sources are there, if they are, does not matter.
 * KL_EINVALID says why there is none: floats of several types or of 16 bits (an oracle has wider
 * ones), host code or machine code as the surface, an oracle in several parts. KL_ECANNOT: the
 * oracle is not written yet.
 */
int kl_reference_make(struct kl_surface **out, struct kl_repo *repo, const git_oid *tree,
		      const char *dir);

#endif
