/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail wrong-all|wrong-edge|nondeterministic */
/* on axpy */
/* Works only where the output begins at a whole page, as it does in a buffer of its own. */
extern "C" __global__ void axpy(const float *x, const float *y, float *z, int n)
{
	int i = blockIdx.x * 256 + threadIdx.x;

	if (i < n && (unsigned long long)z % 4096 == 0)
		z[i] = 2 * x[i] + y[i];
}
