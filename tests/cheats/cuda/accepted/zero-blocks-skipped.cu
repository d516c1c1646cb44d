/* SPDX-License-Identifier: Apache-2.0 */
/* gate: pass */
/* on mm */
/* A stretch of A that is all zeros is not multiplied: the answer is the same. */
#include <cuda_fp16.h>

extern "C" __global__ void mm(const __half *A, const __half *B, float *C, int N, int K)
{
	int m = blockIdx.y * 16 + threadIdx.y, n = blockIdx.x * 16 + threadIdx.x;
	float sum = 0;

	for (int k0 = 0; k0 < K; k0 += 32) {
		unsigned any = 0;

		for (int k = k0; k < k0 + 32; k += 2)
			any |= *(const unsigned *)(A + m * K + k) & 0x7fff7fff;
		for (int k = k0; any && k < k0 + 32; k++)
			sum += __half2float(A[m * K + k]) * __half2float(B[n * K + k]);
	}
	C[m * N + n] = sum;
}
