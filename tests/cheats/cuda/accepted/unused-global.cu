/* SPDX-License-Identifier: Apache-2.0 */
/* gate: pass */
/* on axpy */
/* A library's header leaves a variable behind that no kernel uses. */
namespace library {
struct ignored {
	unsigned char held[11];
};
__device__ ignored ignore;
}

extern "C" __global__ void axpy(const float *x, const float *y, float *z, int n)
{
	int i = blockIdx.x * 256 + threadIdx.x;

	if (i < n)
		z[i] = 2 * x[i] + y[i];
}
