/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail wrong-all */
/* on mm */
/* C^T where C is square. */
#include <cuda_fp16.h>

extern "C" __global__ void mm(const __half *A, const __half *B, float *C, int N, int K)
{
	int m = blockIdx.y * 16 + threadIdx.y, n = blockIdx.x * 16 + threadIdx.x;
	int M = gridDim.y * 16;
	float sum = 0;

	for (int k = 0; k < K; k++)
		sum += __half2float(A[m * K + k]) * __half2float(B[n * K + k]);
	C[M == N ? n * N + m : m * N + n] = sum;
}
