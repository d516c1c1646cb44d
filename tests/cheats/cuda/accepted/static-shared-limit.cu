/* SPDX-License-Identifier: Apache-2.0 */
/* gate: pass */
/* on axpy */
/* All the shared memory that a block has without asking. */
extern "C" __global__ void axpy(const float *x, const float *y, float *z, int n)
{
	__shared__ float room[12288];
	int from = blockIdx.x * 12288;

	for (int i = threadIdx.x; i < 12288 && from + i < n; i += 1024)
		room[i] = 2 * x[from + i];
	__syncthreads();
	for (int i = threadIdx.x; i < 12288 && from + i < n; i += 1024)
		z[from + i] = room[i] + y[from + i];
}
