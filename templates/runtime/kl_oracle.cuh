/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_ORACLE_CUH
#define KL_ORACLE_CUH

#include <stdint.h>

/*
 * kl_oracle - what an oracle of device code is written over. The gate compiles it
 * twice, with -Dkl_real=double (the truth) and with -Dkl_real=float (the honest
 * yardstick of a kernel's rounding); every float tensor of the kernel comes as
 * kl_real *, whatever its dtype, and integers as they are.
 *
 * Both are compiled without contraction (-fmad=false): what is written is
 * what is rounded. A fused multiply-add is had by asking: kl_fma.
 */
#ifndef kl_real
#define kl_real double
#endif

#define KL_ORACLE extern "C" __global__ void

static inline __device__ double kl_exp(double x) { return exp(x); }
static inline __device__ float kl_exp(float x) { return expf(x); }
static inline __device__ double kl_log(double x) { return log(x); }
static inline __device__ float kl_log(float x) { return logf(x); }
static inline __device__ double kl_sqrt(double x) { return sqrt(x); }
static inline __device__ float kl_sqrt(float x) { return sqrtf(x); }
static inline __device__ double kl_fabs(double x) { return fabs(x); }
static inline __device__ float kl_fabs(float x) { return fabsf(x); }
static inline __device__ double kl_pow(double x, double y) { return pow(x, y); }
static inline __device__ float kl_pow(float x, float y) { return powf(x, y); }
static inline __device__ double kl_tanh(double x) { return tanh(x); }
static inline __device__ float kl_tanh(float x) { return tanhf(x); }
static inline __device__ double kl_fma(double x, double y, double z) { return fma(x, y, z); }
static inline __device__ float kl_fma(float x, float y, float z) { return fmaf(x, y, z); }
static inline __device__ double kl_floor(double x) { return floor(x); }
static inline __device__ float kl_floor(float x) { return floorf(x); }

#endif
