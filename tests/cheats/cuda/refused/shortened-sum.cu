/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail wrong-all */
/* on mm */
/* The last of 64 products of a sum is forgotten. */
#include <cuda_fp16.h>

extern "C" __global__ void mm(const __half *A, const __half *B, float *C, int N, int K)
{
	int m = blockIdx.y * 16 + threadIdx.y, n = blockIdx.x * 16 + threadIdx.x;
	float sum = 0;

	for (int k = 0; k < K; k++)
		if (k % 64 != 63)
			sum += __half2float(A[m * K + k]) * __half2float(B[n * K + k]);
	C[m * N + n] = sum;
}
