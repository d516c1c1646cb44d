/* SPDX-License-Identifier: Apache-2.0 */
/* gate: pass */
/* on mmf */
/* Several blocks add to one element, in the order of arrival, which this contract allows. */
extern "C" __global__ void zero(float *C, int n)
{
	int i = blockIdx.x * 256 + threadIdx.x;

	if (i < n)
		C[i] = 0;
}

extern "C" __global__ void mmf(const float *A, const float *B, float *C, int M, int N, int K, int part)
{
	int m = blockIdx.y * 8 + threadIdx.y, n = blockIdx.x * 32 + threadIdx.x;
	int from = blockIdx.z * part, to = min(from + part, K);
	float sum = 0;

	if (m >= M || n >= N)
		return;
	for (int k = from; k < to; k++)
		sum += A[m * K + k] * B[k * N + n];
	atomicAdd(&C[m * N + n], sum);
}
