/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail fault */
/* on axpy */
/* One element too many is loaded; volatile, or the assembler takes the load away. */
extern "C" __global__ void axpy(const float *x, const float *y, float *z, int n)
{
	int i = blockIdx.x * 256 + threadIdx.x;
	float next;

	if (i >= n)
		return;
	asm volatile("ld.volatile.global.f32 %0, [%1];" : "=f"(next) : "l"(x + i + 1));
	z[i] = 2 * x[i] + y[i];
}
