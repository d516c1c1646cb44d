/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_APPLY_ORACLE_KERNEL_H
#define KL_APPLY_ORACLE_KERNEL_H

#include "contract/surface.h"

/*
 * oracle_kernel - makes a first kernel from the contract's oracle, to be used while there is no
 * correct kernel.
 *
 * The kernel is the honest reference, that is, the oracle in the contract's own types: in the
 * oracle's text, kl_real is replaced by float or double, and the other words of the oracle's header
 * by those of the language (struct kl_oracle_words). The kernel has the entry of the surface, or
 * the oracle's launch plan. The gate judges it like any other kernel.
 *
 * The kernel is written to the first source that can contain it; the other sources contain only a
 * comment. An #include of an oracle's file is replaced by the text of that file.
 */

/**
 * Make the kernel for the contract at `dir` of a tree. The sources in the tree are ignored and may
 * be missing. Return KL_EINVALID if no kernel can be made of the oracle. The message has the
 * reason: its floats are of several types, or of 16 bits (an oracle computes in wider types); the
 * surface is host code or machine code; or the oracle has several source files. Return KL_ECANNOT
 * if the oracle is not written yet.
 */
int kl_reference_make(struct kl_surface **out, struct kl_repo *repo, const git_oid *tree,
		      const char *dir);

#endif
