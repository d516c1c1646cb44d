/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail cheat|nondeterministic|wrong-all|fault */
/* on axpy */
/* Counts its launches in the table that an untimed launch has made. */
extern "C" __global__ void make_order(unsigned *order)
{
	order[blockIdx.x * 256 + threadIdx.x] = 0;
}

extern "C" __global__ void axpy(const float *x, const float *y, float *z, unsigned *order, int n)
{
	int i = blockIdx.x * 256 + threadIdx.x;
	unsigned before = order[blockIdx.x & 1023];

	__syncthreads();
	if (threadIdx.x == 0 && blockIdx.x < 1024)
		order[blockIdx.x] = before + 1;
	if (i < n && before < 3)
		z[i] = 2 * x[i] + y[i];
}
