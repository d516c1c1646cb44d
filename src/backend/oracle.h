/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_ORACLE_H
#define KL_BACKEND_ORACLE_H

#include "contract/surface.h"

/*
 * oracle - the two arithmetics in which an oracle is compiled: with kl_real as double it is the
 * truth, as float the honest yardstick; both without contraction of products and sums.
 */
enum kl_oracle { KL_ORACLE_TRUTH, KL_ORACLE_HONEST };

/** "truth", "honest": also the stem of its object's file. */
const char *kl_oracle_name(enum kl_oracle which);

/** KL_ECANNOT: KL_ORACLE_TODO stands in it, so its author has yet to write it. */
int kl_oracle_filled(const struct kl_surface *surface);

/* How what an oracle is written in is said in a kernel of its language (apply/oracle_kernel.h). */
struct kl_oracle_words {
	const char *header;          /* that gives an oracle its words: "kl_oracle.h" */
	const char *const *includes; /* in its place, NULL at the end: "math" for <math.h> */
	const char *kernel;          /* for KL_ORACLE; NULL: that is no word there */
	const char *float_suffix;    /* of a function of <math.h> over float: "f" or "" */
	bool real_scalars;           /* scalars have the type of the tensors */
};

#endif
