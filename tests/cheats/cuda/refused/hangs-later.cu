/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail hang */
/* on axpy */
/* Waits for ever once it finds in shared memory that it has been launched a few times. */
extern "C" __global__ void axpy(const float *x, const float *y, float *z, int n)
{
	__shared__ unsigned kept[2];
	volatile unsigned *k = kept;
	int i = blockIdx.x * 256 + threadIdx.x;
	unsigned before = 0;

	if (!threadIdx.x) {
		before = k[0] == 0x5eed5eed ? k[1] : 0;
		k[0] = 0x5eed5eed;
		k[1] = before + 1;
	}
	while (before > 40 && k[1])
		;
	if (i < n)
		z[i] = 2 * x[i] + y[i];
}
