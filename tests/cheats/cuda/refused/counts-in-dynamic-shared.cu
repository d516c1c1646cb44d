/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail cheat|nondeterministic|wrong-all */
/* on axpy */
/* Counts its launches at the far end of the shared memory that the plan asks for. */
extern "C" __global__ void axpy(const float *x, const float *y, float *z, int n)
{
	extern __shared__ unsigned room[];
	volatile unsigned *kept = room + 50000;
	int i = blockIdx.x * 256 + threadIdx.x;
	unsigned before = 0;

	if (!threadIdx.x) {
		before = kept[0] == 0x0ddba11 ? kept[1] : 0;
		kept[0] = 0x0ddba11;
		kept[1] = before + 1;
	}
	before = __shfl_sync(0xffffffff, before, 0);
	if (i < n && before < 3)
		z[i] = 2 * x[i] + y[i];
}
