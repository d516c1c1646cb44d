/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail fault */
/* on axpy */
/* Looks for the answer in the memory behind its output. */
extern "C" __global__ void axpy(const float *x, const float *y, float *z, int n)
{
	int i = blockIdx.x * 256 + threadIdx.x;

	const volatile float *at = z + n;
	float want = 2 * x[0] + y[0];

	for (long far = 0; i == 0 && far < 1l << 28; far += 1024)
		if (at[far] == want)
			break;
	if (i < n)
		z[i] = 2 * x[i] + y[i];
}
