/* SPDX-License-Identifier: Apache-2.0 */
#include "kl_oracle.cuh"

KL_ORACLE oracle(kl_real *out, const kl_real *inp, int N, int C)
{
	int row = blockIdx.x * blockDim.x + threadIdx.x;

	if (row >= N)
		return;
	const kl_real *x = inp + (size_t)row * C;
	kl_real *y = out + (size_t)row * C, largest = x[0], sum = 0;
	for (int i = 1; i < C; i++)
		largest = x[i] > largest ? x[i] : largest;
	for (int i = 0; i < C; i++) {
		y[i] = kl_exp(x[i] - largest);
		sum += y[i];
	}
	for (int i = 0; i < C; i++)
		y[i] /= sum;
}
