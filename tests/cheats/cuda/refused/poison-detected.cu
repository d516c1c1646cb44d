/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail cheat|nondeterministic|wrong-all */
/* on axpy */
/* Works where the output is NaN or wild, as before a judged call, and leaves anything else as it is. */
extern "C" __global__ void axpy(const float *x, const float *y, float *z, int n)
{
	int i = blockIdx.x * 256 + threadIdx.x;

	if (i < n && !(fabsf(z[i]) < 1e4f && z[i] != 0))
		z[i] = 2 * x[i] + y[i];
}
