/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail wrong-all|wrong-edge|fault */
/* on mmf */
/* B is read with the stride of A, which is right only where K is N. */
extern "C" __global__ void mmf(const float *A, const float *B, float *C, int M, int N, int K)
{
	int m = blockIdx.y * 8 + threadIdx.y, n = blockIdx.x * 32 + threadIdx.x;
	float sum = 0;

	if (m >= M || n >= N)
		return;
	for (int k = 0; k < K; k++)
		sum += A[m * K + k] * B[(k * K + n) % (K * N)];
	C[m * N + n] = sum;
}
