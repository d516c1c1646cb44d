/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail compile */
/* A table that no linker should be asked for. */
#include <stdint.h>

#define T1 1, 2, 3, 4, 5, 6, 7, 8, 9, 10,
#define T2 T1 T1 T1 T1 T1 T1 T1 T1 T1 T1
#define T3 T2 T2 T2 T2 T2 T2 T2 T2 T2 T2
#define T4 T3 T3 T3 T3 T3 T3 T3 T3 T3 T3
#define T5 T4 T4 T4 T4 T4 T4 T4 T4 T4 T4
#define T6 T5 T5 T5 T5 T5 T5 T5 T5 T5 T5
#define T7 T6 T6 T6 T6 T6 T6 T6 T6 T6 T6
#define T8 T7 T7 T7 T7 T7 T7 T7 T7 T7 T7
static const int bomb[] = { T8 T8 T8 T8 0 };

void mm(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
{
	C[0] = (float)bomb[K];
}
