/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail wrong-edge */
/* on mmf */
/* Products two by two: the last of an odd number is left out. */
extern "C" __global__ void mmf(const float *A, const float *B, float *C, int M, int N, int K)
{
	int m = blockIdx.y * 8 + threadIdx.y, n = blockIdx.x * 32 + threadIdx.x;
	float sum = 0;

	if (m >= M || n >= N)
		return;
	for (int k = 0; k + 1 < K; k += 2)
		sum += A[m * K + k] * B[k * N + n] + A[m * K + k + 1] * B[(k + 1) * N + n];
	C[m * N + n] = sum;
}
