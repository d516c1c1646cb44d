/* SPDX-License-Identifier: Apache-2.0 */
#include "kl_oracle.h"

void oracle(kl_real *out, const kl_real *inp, const kl_real *weight, const kl_real *bias, int B, int T, int C, int OC)
{
	for (int row = 0; row < B * T; row++)
		for (int o = 0; o < OC; o++) {
			kl_real sum = bias[o];
			for (int i = 0; i < C; i++)
				sum += inp[row * C + i] * weight[o * C + i];
			out[row * OC + o] = sum;
		}
}
