/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recurrence, token by token. Eight threads share a column of the state,
 * sixteen rows each, in registers: no column meets another.
 */
#include "kl_oracle.cuh"

#define D 128
#define PARTS 8
#define ROWS (D / PARTS)

static __device__ kl_real sum_of_parts(kl_real x)
{
	for (int far = 1; far < PARTS; far *= 2)
		x += __shfl_xor_sync(0xffffffffu, x, far);
	return x;
}

KL_ORACLE oracle(const kl_real *q, const kl_real *k, const kl_real *v, const kl_real *g, const kl_real *beta,
		 const kl_real *S0, kl_real *o, kl_real *ST, int T, int Hk, int H)
{
	int part = threadIdx.x % PARTS, col = blockIdx.x * 16 + threadIdx.x / PARTS;
	int h = blockIdx.y, hk = h / (H / Hk);
	int64_t state = ((int64_t)blockIdx.z * H + h) * D * D + (int64_t)part * ROWS * D + col;
	kl_real S[ROWS];

	for (int i = 0; i < ROWS; i++)
		S[i] = S0[state + i * D];
	for (int64_t t = (int64_t)blockIdx.z * T; t < (int64_t)(blockIdx.z + 1) * T; t++) {
		const kl_real *kt = k + (t * Hk + hk) * D + part * ROWS;
		const kl_real *qt = q + (t * Hk + hk) * D + part * ROWS;
		kl_real decay = kl_exp(g[t * H + h]), ks = 0, qs = 0, u;

		for (int i = 0; i < ROWS; i++) {
			S[i] *= decay;
			ks += S[i] * kt[i];
		}
		u = beta[t * H + h] * (v[(t * H + h) * D + col] - sum_of_parts(ks));
		for (int i = 0; i < ROWS; i++) {
			S[i] += kt[i] * u;
			qs += S[i] * qt[i];
		}
		qs = sum_of_parts(qs);
		if (part == 0)
			o[(t * H + h) * D + col] = qs / kl_sqrt((kl_real)D);
	}
	for (int i = 0; i < ROWS; i++)
		ST[state + i * D] = S[i];
}
