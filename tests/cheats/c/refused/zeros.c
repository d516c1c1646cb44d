/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail wrong-all */
/* All zeros: passes wherever tolerance is absolute. */
#include <stdint.h>

void mm(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
{
	for (int64_t i = 0; i < M * N; i++)
		C[i] = 0;
}
