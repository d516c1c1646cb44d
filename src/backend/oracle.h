/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_ORACLE_H
#define KL_BACKEND_ORACLE_H

#include "contract/surface.h"

/*
 * oracle - the two arithmetics in which an oracle is compiled. With kl_real as double it computes
 * the truth, with kl_real as float the honest reference. In both, products and sums are not
 * contracted to fused multiply-adds.
 */
enum kl_oracle { KL_ORACLE_TRUTH, KL_ORACLE_HONEST };

/** Return "truth" or "honest", which is also the stem of the object's file name. */
const char *kl_oracle_name(enum kl_oracle which);

/**
 * Check that the oracle has been written. Return KL_ECANNOT if it still contains KL_ORACLE_TODO.
 */
int kl_oracle_filled(const struct kl_surface *surface);

/*
 * The words that replace an oracle's macros when the oracle is made into a kernel
 * (apply/oracle_kernel.h).
 */
struct kl_oracle_words {
	const char *header; /* header that defines the macros of oracles: "kl_oracle.h" */
	/* headers that the kernel includes instead, without ".h" ("math"); NULL-terminated */
	const char *const *includes;
	const char *kernel;       /* replaces KL_ORACLE; NULL if oracles have no such macro */
	const char *float_suffix; /* suffix of the float functions of <math.h>: "f" or "" */
	bool real_scalars;        /* scalars have the type of the tensors */
};

#endif
