/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail hang */
/* on axpy */
/* A barrier counts one arrival more than there are. */
extern "C" __global__ void axpy(const float *x, const float *y, float *z, int n)
{
	__shared__ alignas(8) unsigned long long barrier;
	unsigned at = (unsigned)__cvta_generic_to_shared(&barrier), done = 0;
	int i = blockIdx.x * 256 + threadIdx.x;

	if (!threadIdx.x)
		asm volatile("mbarrier.init.shared.b64 [%0], 257;" :: "r"(at));
	__syncthreads();
	asm volatile("{ .reg .b64 t; mbarrier.arrive.shared.b64 t, [%0]; }" :: "r"(at) : "memory");
	while (!done)
		asm volatile("{ .reg .pred p; mbarrier.test_wait.parity.shared.b64 p, [%1], 0;"
			     " selp.u32 %0, 1, 0, p; }" : "=r"(done) : "r"(at) : "memory");
	if (i < n)
		z[i] = 2 * x[i] + y[i];
}
