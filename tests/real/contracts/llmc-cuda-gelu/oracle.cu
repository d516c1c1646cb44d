/* SPDX-License-Identifier: Apache-2.0 */
#include "kl_oracle.cuh"

KL_ORACLE oracle(kl_real *out, const kl_real *inp, int N)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i >= N)
		return;
	kl_real x = inp[i], factor = kl_sqrt((kl_real)2 / (kl_real)3.14159265358979323846);
	out[i] = (kl_real)0.5 * x * (1 + kl_tanh(factor * (x + (kl_real)0.044715 * x * x * x)));
}
