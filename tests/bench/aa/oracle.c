/* SPDX-License-Identifier: Apache-2.0 */
#include "kl_oracle.h"

void oracle(int64_t n, kl_real first, const kl_real *numbers, kl_real *values)
{
	for (int64_t i = 0; i < n; i++)
		values[i] += first * numbers[i];
}
