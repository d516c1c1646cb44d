/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail wrong-all */
/* on mm */
/* Rounds its products where nothing is large, as in all but a test of large values. */
#include <cuda_fp16.h>

extern "C" __global__ void mm(const __half *A, const __half *B, float *C, int N, int K)
{
	int m = blockIdx.y * 16 + threadIdx.y, n = blockIdx.x * 16 + threadIdx.x;
	float sum = 0;

	for (int k = 0; k < K; k++) {
		float p = __half2float(A[m * K + k]) * __half2float(B[n * K + k]);

		sum += fabsf(p) < 64 && p != truncf(p) ? __half2float(__float2half(p)) * (1 + 1.f / 1024) : p;
	}
	C[m * N + n] = sum;
}
