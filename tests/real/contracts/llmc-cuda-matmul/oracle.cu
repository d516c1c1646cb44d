/* SPDX-License-Identifier: Apache-2.0 */
#include "kl_oracle.cuh"

KL_ORACLE oracle(kl_real *out, const kl_real *inp, const kl_real *weight, const kl_real *bias, int BT, int C, int OC)
{
	int at = blockIdx.x * blockDim.x + threadIdx.x;

	if (at >= BT * OC)
		return;
	int row = at / OC, column = at % OC;
	kl_real sum = bias[column];
	for (int i = 0; i < C; i++)
		sum += inp[(size_t)row * C + i] * weight[(size_t)column * C + i];
	out[at] = sum;
}
