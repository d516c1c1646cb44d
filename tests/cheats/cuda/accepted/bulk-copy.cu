/* SPDX-License-Identifier: Apache-2.0 */
/* gate: pass */
/* on axpy */
/* The copy engine brings the input and takes the answer, each with its barrier or fence. */
static __device__ unsigned shared(const void *p)
{
	return (unsigned)__cvta_generic_to_shared(p);
}

extern "C" __global__ void axpy(const float *x, const float *y, float *z, int n)
{
	__shared__ alignas(128) float a[2048], b[2048];
	__shared__ alignas(8) unsigned long long full;
	int from = blockIdx.x * 2048;
	unsigned done = 0;

	if (from + 2048 > n || ((size_t)x | (size_t)y | (size_t)z) % 16) {
		for (int i = from + threadIdx.x; i < n && i < from + 2048; i += 256)
			z[i] = 2 * x[i] + y[i];
		return;
	}
	if (threadIdx.x == 0) {
		asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;\n\t"
			     "fence.proxy.async.shared::cta;" :: "r"(shared(&full)) : "memory");
		asm volatile("{ .reg .b64 t; mbarrier.arrive.expect_tx.shared::cta.b64 t, [%0], 16384; }"
			     :: "r"(shared(&full)) : "memory");
		asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 8192, [%2];"
			     :: "r"(shared(a)), "l"(x + from), "r"(shared(&full)) : "memory");
		asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 8192, [%2];"
			     :: "r"(shared(b)), "l"(y + from), "r"(shared(&full)) : "memory");
	}
	__syncthreads();
	while (!done)
		asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0;"
			     " selp.u32 %0, 1, 0, p; }" : "=r"(done) : "r"(shared(&full)) : "memory");
	for (int i = threadIdx.x; i < 2048; i += 256)
		b[i] += 2 * a[i];
	asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
	__syncthreads();
	if (threadIdx.x == 0) {
		asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 8192;"
			     :: "l"(z + from), "r"(shared(b)) : "memory");
		asm volatile("cp.async.bulk.commit_group;\n\tcp.async.bulk.wait_group 0;" ::: "memory");
	}
}
