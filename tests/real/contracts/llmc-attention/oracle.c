/* SPDX-License-Identifier: Apache-2.0 */
#include "kl_oracle.h"

/* The kernel leaves preatt above the diagonal as it was, and zeroes att there. */
void oracle(kl_real *out, kl_real *preatt, kl_real *att, const kl_real *inp, int B, int T, int C, int NH)
{
	int size = C / NH;
	kl_real scale = 1 / kl_sqrt((kl_real)size);
	for (int b = 0; b < B; b++)
		for (int t = 0; t < T; t++)
			for (int h = 0; h < NH; h++) {
				const kl_real *query = inp + (b * T + t) * 3 * C + h * size;
				kl_real *pre = preatt + ((b * NH + h) * T + t) * T;
				kl_real *weight = att + ((b * NH + h) * T + t) * T;
				kl_real *to = out + (b * T + t) * C + h * size;
				kl_real largest = -10000, sum = 0;
				for (int t2 = 0; t2 <= t; t2++) {
					const kl_real *key = inp + (b * T + t2) * 3 * C + C + h * size;
					kl_real dot = 0;
					for (int i = 0; i < size; i++)
						dot += query[i] * key[i];
					pre[t2] = dot * scale;
					largest = pre[t2] > largest ? pre[t2] : largest;
				}
				for (int t2 = 0; t2 <= t; t2++) {
					weight[t2] = kl_exp(pre[t2] - largest);
					sum += weight[t2];
				}
				for (int t2 = 0; t2 < T; t2++)
					weight[t2] = t2 <= t && sum != 0 ? weight[t2] / sum : 0;
				for (int i = 0; i < size; i++)
					to[i] = 0;
				for (int t2 = 0; t2 <= t; t2++) {
					const kl_real *value = inp + (b * T + t2) * 3 * C + 2 * C + h * size;
					for (int i = 0; i < size; i++)
						to[i] += weight[t2] * value[i];
				}
			}
}
