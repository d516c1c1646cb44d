/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_ORACLE_H
#define KL_BACKEND_ORACLE_H

#include "contract/surface.h"

/*
 * oracle - the two arithmetics in which an oracle is compiled: with kl_real as double it computes
 * the truth, as float the honest reference; in both, products and sums are not contracted.
 */
enum kl_oracle { KL_ORACLE_TRUTH, KL_ORACLE_HONEST };

/** "truth" or "honest"; also the stem of the object's file name. */
const char *kl_oracle_name(enum kl_oracle which);

/** KL_ECANNOT: the oracle contains KL_ORACLE_TODO, so its author has not written it yet. */
int kl_oracle_filled(const struct kl_surface *surface);

/* The substitutes for an oracle's vocabulary in a kernel (apply/oracle_kernel.h). */
struct kl_oracle_words {
	const char *header;          /* defines an oracle's macros: "kl_oracle.h" */
	const char *const *includes; /* included instead, NULL-terminated: "math" for <math.h> */
	const char *kernel;          /* replaces KL_ORACLE; NULL: oracles have no such macro */
	const char *float_suffix;    /* of a <math.h> function for float: "f" or "" */
	bool real_scalars;           /* scalars have the type of the tensors */
};

#endif
