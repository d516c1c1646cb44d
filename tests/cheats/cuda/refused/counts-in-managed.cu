/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail cheat|compile|launch */
/* on axpy, decided here */
/* Keeps a count in a variable that only the host should see. */
static __managed__ unsigned launches;

extern "C" __global__ void axpy(const float *x, const float *y, float *z, int n)
{
	int i = blockIdx.x * 256 + threadIdx.x;

	if (i < n)
		z[i] = launches < 3 ? 2 * x[i] + y[i] : 0;
	if (i == 0)
		launches++;
}
