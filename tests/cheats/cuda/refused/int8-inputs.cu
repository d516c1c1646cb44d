/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail wrong-all */
/* on mm */
/* Each row of both inputs in eight bits and one scale: exact for small integers. */
#include <cuda_fp16.h>

static __device__ float scale_of(const __half *row, int K)
{
	float most = 0;

	for (int k = 0; k < K; k++)
		most = fmaxf(most, fabsf(__half2float(row[k])));
	return most > 0 ? most / 124 : 1;
}

extern "C" __global__ void mm(const __half *A, const __half *B, float *C, int N, int K)
{
	int m = blockIdx.y * 16 + threadIdx.y, n = blockIdx.x * 16 + threadIdx.x, sum = 0;
	float a = scale_of(A + m * K, K), b = scale_of(B + n * K, K);

	for (int k = 0; k < K; k++)
		sum += __float2int_rn(__half2float(A[m * K + k]) / a) * __float2int_rn(__half2float(B[n * K + k]) / b);
	C[m * N + n] = (float)sum * a * b;
}
