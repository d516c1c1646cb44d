/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_APPLY_ORACLE_KERNEL_H
#define KL_APPLY_ORACLE_KERNEL_H

#include "contract/surface.h"

/*
 * oracle_kernel - makes a first kernel from the contract's oracle. It is used as long as there is
 * no correct kernel.
 *
 * The kernel is the honest reference, that is, the oracle in the contract's own types: in its text,
 * kl_real is replaced by float or double, and the oracle's words by those of the language (struct
 * kl_oracle_words). It has the entry of the surface, or the oracle's launch plan. The gate judges
 * it like any other kernel.
 *
 * It is written to the first source that can contain it; the other sources contain only a comment.
 * An #include of an oracle's file is replaced by the text of that file.
 */

/**
 * Make the kernel for the contract at `dir` of a tree. Sources in the tree are ignored and may be
 * missing. KL_EINVALID: the oracle cannot be a kernel; the message has the reason: floats of
 * several types or of 16 bits (an oracle uses wider ones), host code or machine code as the
 * surface, or an oracle of several source files. KL_ECANNOT: the oracle is not written yet.
 */
int kl_reference_make(struct kl_surface **out, struct kl_repo *repo, const git_oid *tree,
		      const char *dir);

#endif
