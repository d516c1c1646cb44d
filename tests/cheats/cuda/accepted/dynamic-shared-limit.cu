/* SPDX-License-Identifier: Apache-2.0 */
/* gate: pass */
/* on axpy */
/* All the shared memory that a block may ask for. */
extern "C" __global__ void axpy(const float *x, const float *y, float *z, int n, int each)
{
	extern __shared__ float room[];
	int from = blockIdx.x * each;

	for (int i = threadIdx.x; i < each && from + i < n; i += 1024)
		room[i] = 2 * x[from + i];
	__syncthreads();
	for (int i = threadIdx.x; i < each && from + i < n; i += 1024)
		z[from + i] = room[i] + y[from + i];
}
