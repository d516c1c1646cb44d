/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_ORACLE_H
#define KL_ORACLE_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/*
 * kl_oracle - what an oracle is written over. The gate compiles it twice, with
 * -Dkl_real=double (the truth) and with -Dkl_real=float (the honest yardstick of
 * a kernel's rounding); every float tensor of the kernel comes as kl_real *.
 *
 * Both are compiled without contraction (-ffp-contract=off): what is written is
 * what is rounded, the same on every machine level. A fused multiply-add is
 * had by asking: kl_fma.
 */
#ifndef kl_real
#define kl_real double
#endif

#define KL_BY_TYPE(name) _Generic((kl_real)0, float: name##f, default: name)

#define kl_exp(x) (KL_BY_TYPE(exp)(x))
#define kl_log(x) (KL_BY_TYPE(log)(x))
#define kl_sqrt(x) (KL_BY_TYPE(sqrt)(x))
#define kl_fabs(x) (KL_BY_TYPE(fabs)(x))
#define kl_pow(x, y) (KL_BY_TYPE(pow)((x), (y)))
#define kl_tanh(x) (KL_BY_TYPE(tanh)(x))
#define kl_fma(x, y, z) (KL_BY_TYPE(fma)((x), (y), (z)))
#define kl_floor(x) (KL_BY_TYPE(floor)(x))

#endif
