/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail compile */
/* on axpy, decided here */
/* An instruction that sm_90a has and sm_90 does not. */
extern "C" __global__ void __launch_bounds__(256) axpy(const float *x, const float *y, float *z, int n)
{
	int i = blockIdx.x * 256 + threadIdx.x;

	asm volatile("setmaxnreg.inc.sync.aligned.u32 128;");
	if (i < n)
		z[i] = 2 * x[i] + y[i];
}
