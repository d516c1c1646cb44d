/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail cheat */
/* on axpy, decided here */
/* An assert that stays: it prints, and stops the device. */
#undef NDEBUG
#include <assert.h>

extern "C" __global__ void axpy(const float *x, const float *y, float *z, int n)
{
	int i = blockIdx.x * 256 + threadIdx.x;

	assert(n < 1000000);
	if (i < n)
		z[i] = 2 * x[i] + y[i];
}
