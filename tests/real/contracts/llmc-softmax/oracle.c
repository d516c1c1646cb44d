/* SPDX-License-Identifier: Apache-2.0 */
#include "kl_oracle.h"

void oracle(kl_real *probs, const kl_real *logits, int B, int T, int V, int Vp)
{
	for (int row = 0; row < B * T; row++) {
		const kl_real *x = logits + row * Vp;
		kl_real *y = probs + row * Vp, largest = -10000, sum = 0;
		for (int i = 0; i < V; i++)
			largest = x[i] > largest ? x[i] : largest;
		for (int i = 0; i < V; i++) {
			y[i] = kl_exp(x[i] - largest);
			sum += y[i];
		}
		for (int i = 0; i < Vp; i++)
			y[i] = i < V ? y[i] / sum : 0;
	}
}
