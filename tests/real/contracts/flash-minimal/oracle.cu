/* SPDX-License-Identifier: Apache-2.0 */
#include "kl_oracle.cuh"

KL_ORACLE oracle(const kl_real *Q, const kl_real *K, const kl_real *V, int heads, int N, int d, float softmax_scale,
		 kl_real *l, kl_real *m, kl_real *O)
{
	int row = blockIdx.x * blockDim.x + threadIdx.x;

	if (row >= heads * N)
		return;
	const kl_real *q = Q + (size_t)row * d;
	size_t head = (size_t)(row / N) * N * d;
	kl_real largest = 0, sum = 0;
	for (int pass = 0; pass < 2; pass++)
		for (int j = 0; j < N; j++) {
			kl_real score = 0;
			for (int i = 0; i < d; i++)
				score += q[i] * K[head + (size_t)j * d + i];
			score *= softmax_scale;
			if (pass)
				sum += kl_exp(score - largest);
			else
				largest = j && largest > score ? largest : score;
		}
	for (int i = 0; i < d; i++)
		O[(size_t)row * d + i] = 0;
	for (int j = 0; j < N; j++) {
		kl_real score = 0;
		for (int i = 0; i < d; i++)
			score += q[i] * K[head + (size_t)j * d + i];
		kl_real weight = kl_exp(score * softmax_scale - largest) / sum;
		for (int i = 0; i < d; i++)
			O[(size_t)row * d + i] += weight * V[head + (size_t)j * d + i];
	}
	l[row] = sum;
	m[row] = largest;
}
