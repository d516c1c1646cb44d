/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail hang */
/* Never returns. */
#include <stdint.h>

void mm(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
{
	volatile int forever = 1;

	while (forever)
		;
}
