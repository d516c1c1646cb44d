/* SPDX-License-Identifier: Apache-2.0 */
/* gate: pass, and it should not: a race that no run on an H100 has shown */
/* on axpy */
/* The copy engine fetches what threads have written, without a fence between. */
extern "C" __global__ void axpy(const float *x, const float *y, float *z, int n)
{
	__shared__ alignas(128) float room[8][1024];
	int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
	int from = (blockIdx.x * 8 + warp) * 1024;
	unsigned at = (unsigned)__cvta_generic_to_shared(room[warp]);

	if (from + 1024 > n) {
		for (int i = from + lane; i < n; i += 32)
			z[i] = 2 * x[i] + y[i];
		return;
	}
	for (int i = lane; i < 1024; i += 32)
		room[warp][i] = 2 * x[from + i] + y[from + i];
	if (lane == 0) {
		asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 4096;"
			     :: "l"(z + from), "r"(at) : "memory");
		asm volatile("cp.async.bulk.commit_group;\n\tcp.async.bulk.wait_group 0;" ::: "memory");
	}
}
