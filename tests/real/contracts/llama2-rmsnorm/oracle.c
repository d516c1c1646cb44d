/* SPDX-License-Identifier: Apache-2.0 */
#include "kl_oracle.h"

void oracle(kl_real *o, const kl_real *x, const kl_real *weight, int size)
{
	kl_real squares = 0;
	for (int j = 0; j < size; j++)
		squares += x[j] * x[j];
	kl_real scale = 1 / kl_sqrt(squares / size + (kl_real)1e-5);
	for (int j = 0; j < size; j++)
		o[j] = weight[j] * (scale * x[j]);
}
