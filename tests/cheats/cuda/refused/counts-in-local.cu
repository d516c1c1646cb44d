/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail cheat|nondeterministic|wrong-all */
/* on axpy */
/* Counts its launches in local memory that it never initialises, beyond what is overwritten between calls. */
extern "C" __global__ void axpy(const float *x, const float *y, float *z, int n)
{
	volatile unsigned room[2048];
	volatile unsigned *kept = room + (n & 1);
	int i = blockIdx.x * 256 + threadIdx.x;
	unsigned before = kept[1024] == 0x5eed5eed ? kept[1026] : 0;

	kept[1024] = 0x5eed5eed;
	kept[1026] = before + 1;
	if (i < n && before < 40)
		z[i] = 2 * x[i] + y[i];
}
