/* SPDX-License-Identifier: Apache-2.0 */
#include "kl_oracle.h"

void oracle(kl_real *x, int size)
{
	kl_real largest = x[0], sum = 0;
	for (int i = 1; i < size; i++)
		largest = x[i] > largest ? x[i] : largest;
	for (int i = 0; i < size; i++) {
		x[i] = kl_exp(x[i] - largest);
		sum += x[i];
	}
	for (int i = 0; i < size; i++)
		x[i] /= sum;
}
