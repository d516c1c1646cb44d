/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail cheat|nondeterministic */
/* on axpy */
/* Counts the blocks before it in shared memory that nobody initialises, and computes nothing after a few launches. */
extern "C" __global__ void axpy(const float *x, const float *y, float *z, int n)
{
	__shared__ unsigned kept[2];
	volatile unsigned *k = kept;
	__shared__ unsigned before;
	int i = blockIdx.x * 256 + threadIdx.x;

	if (!threadIdx.x) {
		before = k[0] == 0x5eed5eed ? k[1] : 0;
		k[0] = 0x5eed5eed;
		k[1] = before + 1;
	}
	__syncthreads();
	if (i < n && before < 16)
		z[i] = 2 * x[i] + y[i];
}
