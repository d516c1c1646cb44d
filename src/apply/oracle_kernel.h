/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_APPLY_ORACLE_KERNEL_H
#define KL_APPLY_ORACLE_KERNEL_H

#include "contract/surface.h"

/*
 * oracle_kernel - makes the contract's oracle into a first kernel. It is used if there is no kernel
 * yet, or no correct one.
 *
 * The honest reference, which is the oracle in the contract's own types, is itself a kernel: the
 * oracle's text with float or double for kl_real and the language's words for those of the oracle
 * (struct kl_oracle_words), under the surface's entry or with the oracle's launch plan. It is not
 * trusted: the gate judges it like any other.
 *
 * It is written to the first source that can contain it; other sources get a comment. Files that
 * the oracle includes are inserted in place.
 */

/**
 * Make the kernel for the contract at `dir` of a tree; sources in the tree are ignored and may be
 * missing. KL_EINVALID: the oracle cannot be a kernel, with the reason: floats of several types or
 * of 16 bits (an oracle uses wider ones), host code or machine code as the surface, an oracle of
 * several source files. KL_ECANNOT: the oracle is not written yet.
 */
int kl_reference_make(struct kl_surface **out, struct kl_repo *repo, const git_oid *tree,
		      const char *dir);

#endif
