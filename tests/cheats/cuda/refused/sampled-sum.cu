/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail wrong-all */
/* on mm */
/* Every second product, doubled: right on the average. */
#include <cuda_fp16.h>

extern "C" __global__ void mm(const __half *A, const __half *B, float *C, int N, int K)
{
	int m = blockIdx.y * 16 + threadIdx.y, n = blockIdx.x * 16 + threadIdx.x;
	float sum = 0;

	for (int k = n & 1; k < K; k += 2)
		sum += __half2float(A[m * K + k]) * __half2float(B[n * K + k]);
	C[m * N + n] = 2 * sum;
}
