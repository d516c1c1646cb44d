/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail wrong-all */
/* on mmf */
/* Inputs cut to ten bits, as tensor cores take them. */
static __device__ float cut(float x)
{
	return __uint_as_float(__float_as_uint(x) & 0xffffe000);
}

extern "C" __global__ void mmf(const float *A, const float *B, float *C, int M, int N, int K)
{
	int m = blockIdx.y * 8 + threadIdx.y, n = blockIdx.x * 32 + threadIdx.x;
	float sum = 0;

	if (m >= M || n >= N)
		return;
	for (int k = 0; k < K; k++)
		sum += cut(A[m * K + k]) * cut(B[k * N + n]);
	C[m * N + n] = sum;
}
