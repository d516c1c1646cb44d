/* SPDX-License-Identifier: Apache-2.0 */
/* gate: pass */
/* on mmf */
/* The blocks of one tile add up in order: each waits for its turn, and gives up with a trap after a while. */
extern "C" __global__ void mmf(const float *A, const float *B, float *C, unsigned *turn, int M, int N, int K, int part)
{
	int m = blockIdx.y * 8 + threadIdx.y, n = blockIdx.x * 32 + threadIdx.x;
	int from = blockIdx.z * part, to = min(from + part, K);
	volatile unsigned *mine = &turn[blockIdx.y * gridDim.x + blockIdx.x];
	float sum = 0;

	for (int k = from; m < M && n < N && k < to; k++)
		sum += A[m * K + k] * B[k * N + n];
	if (!threadIdx.x && !threadIdx.y) {
		long long begin = clock64();
		unsigned sleep = 8;

		while (*mine != blockIdx.z) {
			__nanosleep(sleep);
			if (clock64() - begin > 10000)
				sleep = 64;
			if (clock64() - begin > 4000000000ll)
				__trap();
		}
	}
	__syncthreads();
	__threadfence();
	if (m < M && n < N)
		C[m * N + n] = (blockIdx.z ? __ldcg(&C[m * N + n]) : 0) + sum;
	__threadfence();
	__syncthreads();
	if (!threadIdx.x && !threadIdx.y)
		*mine = blockIdx.z + 1 == gridDim.z ? 0 : blockIdx.z + 1;
}
