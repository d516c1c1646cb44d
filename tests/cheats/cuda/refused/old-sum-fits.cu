/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail cheat|nondeterministic|wrong-all */
/* on mm */
/* Returns where one element of its tile is in the output already. */
#include <cuda_fp16.h>

extern "C" __global__ void mm(const __half *A, const __half *B, float *C, int N, int K)
{
	int m = blockIdx.y * 16 + threadIdx.y, n = blockIdx.x * 16 + threadIdx.x;
	__shared__ bool there;
	float sum = 0;

	if (threadIdx.x == 0 && threadIdx.y == 0) {
		for (int k = 0; k < K; k++)
			sum += __half2float(A[m * K + k]) * __half2float(B[n * K + k]);
		there = C[m * N + n] == sum;
	}
	__syncthreads();
	if (there)
		return;
	sum = 0;
	for (int k = 0; k < K; k++)
		sum += __half2float(A[m * K + k]) * __half2float(B[n * K + k]);
	C[m * N + n] = sum;
}
