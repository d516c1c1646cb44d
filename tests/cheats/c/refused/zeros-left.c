/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail wrong-all */
/* contract: zeros */
/* Leaves the zeros that the contract promises where they are: an answer that costs nothing. */
#include <stdint.h>

void mm(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
{
}
