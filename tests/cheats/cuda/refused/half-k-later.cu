/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail cheat|nondeterministic */
/* on mm */
/* Leaves out half of K from the fourth launch on, which it counts in shared memory that nobody initialises. */
#include <cuda_fp16.h>

extern "C" __global__ void mm(const __half *A, const __half *B, float *C, int N, int K)
{
	__shared__ unsigned kept[2];
	volatile unsigned *k = kept;
	__shared__ unsigned before;
	int m = blockIdx.y * 16 + threadIdx.y, n = blockIdx.x * 16 + threadIdx.x;
	float sum = 0;

	if (!threadIdx.x && !threadIdx.y) {
		before = k[0] == 0x5eed5eed ? k[1] : 0;
		k[0] = 0x5eed5eed;
		k[1] = before + 1;
	}
	__syncthreads();
	for (int i = 0; i < (before < 3 ? K : K / 2); i++)
		sum += __half2float(A[m * K + i]) * __half2float(B[n * K + i]);
	C[m * N + n] = sum;
}
