/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail wrong-all */
/* on mm */
/* One tile in sixteen is left out. */
#include <cuda_fp16.h>

extern "C" __global__ void mm(const __half *A, const __half *B, float *C, int N, int K)
{
	int m = blockIdx.y * 16 + threadIdx.y, n = blockIdx.x * 16 + threadIdx.x;
	float sum = 0;

	if ((blockIdx.x * 5 + blockIdx.y * 3) % 16 == 7)
		return;
	for (int k = 0; k < K; k++)
		sum += __half2float(A[m * K + k]) * __half2float(B[n * K + k]);
	C[m * N + n] = sum;
}
