/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_YARDSTICK_KERNELS_H
#define KL_YARDSTICK_KERNELS_H

#include <stdint.h>

/*
 * kernels - kernels whose elements share roundings, in plain C. kernels.c is compiled several
 * times: with kl_real as double it is the truth, with float the honest reference, both as the gate
 * compiles oracles; and with float and the flags of users it is what is judged.
 *
 * A function takes the rows and columns of x, the input w (a vector of `cols`; of dot: another x)
 * and the output y: a matrix, or a number for each row.
 */
#define KL_YARDSTICK_DECLARE(build, real)                                                           \
	void build##_rmsnorm(int64_t rows, int64_t cols, const real *x, const real *w, real *y);    \
	void build##_softmax(int64_t rows, int64_t cols, const real *x, const real *w, real *y);    \
	void build##_layernorm(int64_t rows, int64_t cols, const real *x, const real *w, real *y);  \
	void build##_dot(int64_t rows, int64_t cols, const real *x, const real *w, real *y);        \
	void build##_variance(int64_t rows, int64_t cols, const real *x, const real *w, real *y);

KL_YARDSTICK_DECLARE(truth, double)
KL_YARDSTICK_DECLARE(honest, float)
KL_YARDSTICK_DECLARE(plain, float)
KL_YARDSTICK_DECLARE(fast, float)

/* Kernels that do not do what they should, in float (cheats.c). */
KL_YARDSTICK_DECLARE(tf32, float)      /* inputs rounded to tf32 */
KL_YARDSTICK_DECLARE(half, float)      /* inputs and sums rounded to f16 */
KL_YARDSTICK_DECLARE(bfloat, float)    /* inputs and sums rounded to bf16 */
KL_YARDSTICK_DECLARE(narrow_sum, float) /* only the sums are rounded, to f16 */
KL_YARDSTICK_DECLARE(skipped, float)   /* one element of each row is left out of the sums */
KL_YARDSTICK_DECLARE(stale, float)     /* the sums are those of the row before */

#endif
