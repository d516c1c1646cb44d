/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail wrong-all */
/* on mm */
/* Inputs rounded to eight bits: exact for small integers. */
#include <cuda_fp16.h>
#include <cuda_fp8.h>

static __device__ float low(__half x)
{
	return (float)__nv_fp8_e4m3(x);
}

extern "C" __global__ void mm(const __half *A, const __half *B, float *C, int N, int K)
{
	int m = blockIdx.y * 16 + threadIdx.y, n = blockIdx.x * 16 + threadIdx.x;
	float sum = 0;

	for (int k = 0; k < K; k++)
		sum += low(A[m * K + k]) * low(B[n * K + k]);
	C[m * N + n] = sum;
}
