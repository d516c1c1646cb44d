/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail cheat|nondeterministic|wrong-all */
/* on axpy */
/* Counts its launches in scratch that it finds as it left it, and computes nothing after a few. */
extern "C" __global__ void axpy(const float *x, const float *y, float *z, unsigned *kept, int n)
{
	int i = blockIdx.x * 256 + threadIdx.x;
	unsigned before = kept[2 * blockIdx.x] == 0x5eed5eed ? kept[2 * blockIdx.x + 1] : 0;

	__syncthreads();
	if (threadIdx.x == 0) {
		kept[2 * blockIdx.x] = 0x5eed5eed;
		kept[2 * blockIdx.x + 1] = before + 1;
	}
	if (i < n && before < 3)
		z[i] = 2 * x[i] + y[i];
}
