/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail fault */
/* Overwrites its own return address. */
#include <stdint.h>

void mm(int64_t M, int64_t N, int64_t K, const float *A, const float *B, float *C)
{
	volatile uintptr_t *frame = __builtin_frame_address(0);

	for (int i = -4; i < 64; i++)
		frame[i] = 0x10;
}
