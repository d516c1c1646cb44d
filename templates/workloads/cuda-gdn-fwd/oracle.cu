/* SPDX-License-Identifier: Apache-2.0 */
/*
 * First q . k of every two tokens of a chunk, then a block a head: a thread
 * has a column of the state and of v, which no other column meets.
 */
#include "kl_oracle.cuh"

#define C 64
#define D 128

/* P[t, hk, j] = q_t . k_j, j in t's chunk */
KL_ORACLE products(const kl_real *q, const kl_real *k, kl_real *P, int Hk)
{
	int64_t t = blockIdx.x, j = t / C * C + threadIdx.x;
	int hk = blockIdx.y;
	kl_real sum = 0;

	for (int d = 0; d < D; d++)
		sum += q[(t * Hk + hk) * D + d] * k[(j * Hk + hk) * D + d];
	P[(t * Hk + hk) * C + threadIdx.x] = sum;
}

struct head {
	const kl_real *q, *k, *A, *G, *beta, *P;	/* of the chunk's first token */
	const kl_real *v;
	kl_real *o;
	int Hk, H;
};

/* One column of one chunk; S[i * D] is its entry of the state's row i. */
static __device__ void chunk(const struct head *h, kl_real *S)
{
	kl_real W[C], U[C], last = h->G[(C - 1) * h->H];

	for (int i = 0; i < C; i++) {
		kl_real ks = 0, qs = 0, gi = h->G[i * h->H], sum = 0;

		for (int d = 0; d < D; d++) {
			ks += h->k[(int64_t)i * h->Hk * D + d] * S[d * D];
			qs += h->q[(int64_t)i * h->Hk * D + d] * S[d * D];
		}
		W[i] = h->v[(int64_t)i * h->H * D] - kl_exp(gi) * ks;
		for (int j = 0; j <= i; j++)
			sum += h->A[(int64_t)i * h->H * C + j] * kl_exp(gi - h->G[j * h->H]) *
			       h->beta[j * h->H] * W[j];
		U[i] = sum;
		sum = kl_exp(gi) * qs;
		for (int j = 0; j <= i; j++)
			sum += h->P[(int64_t)i * h->Hk * C + j] * kl_exp(gi - h->G[j * h->H]) * U[j];
		h->o[(int64_t)i * h->H * D] = sum / kl_sqrt((kl_real)D);
	}
	for (int j = 0; j < C; j++)
		U[j] *= kl_exp(last - h->G[j * h->H]);
	for (int d = 0; d < D; d++) {
		kl_real sum = kl_exp(last) * S[d * D];

		for (int j = 0; j < C; j++)
			sum += h->k[(int64_t)j * h->Hk * D + d] * U[j];
		S[d * D] = sum;
	}
}

KL_ORACLE oracle(const kl_real *q, const kl_real *k, const kl_real *v, const kl_real *A, const kl_real *G,
		 const kl_real *beta, const kl_real *S0, const kl_real *P, kl_real *o, kl_real *ST,
		 int T, int Hk, int H)
{
	extern __shared__ kl_real room[];
	int h = blockIdx.x, hk = h / (H / Hk), col = threadIdx.x;
	int64_t state = ((int64_t)blockIdx.y * H + h) * D * D + col;
	kl_real *S = room + col;

	for (int i = 0; i < D; i++)
		S[i * D] = S0[state + i * D];
	for (int from = 0; from < T; from += C) {
		int64_t t = (int64_t)blockIdx.y * T + from;
		struct head at = {
			q + (t * Hk + hk) * D, k + (t * Hk + hk) * D, A + (t * H + h) * C,
			G + t * H + h, beta + t * H + h, P + (t * Hk + hk) * C,
			v + (t * H + h) * D + col, o + (t * H + h) * D + col, Hk, H,
		};

		chunk(&at, S);
	}
	for (int i = 0; i < D; i++)
		ST[state + i * D] = S[i * D];
}
