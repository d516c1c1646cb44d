/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail cheat */
/* Ends the process as if all were well. */
#include <stdint.h>
#include <stdlib.h>

void mm(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
{
	exit(0);
}
