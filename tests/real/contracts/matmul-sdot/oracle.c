/* SPDX-License-Identifier: Apache-2.0 */
#include "kl_oracle.h"

kl_real oracle(int n, const kl_real *x, const kl_real *y)
{
	kl_real sum = 0;
	for (int i = 0; i < n; i++)
		sum += x[i] * y[i];
	return sum;
}
