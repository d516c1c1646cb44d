/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail cheat|nondeterministic */
/* on axpy */
/* Counts its launches in a table that it declares const, reached by a pointer without the table's name. */
static const __device__ unsigned table[64] = { 1, 2, 3 };

extern "C" __global__ void axpy(const float *x, const float *y, float *z, int n)
{
	int i = blockIdx.x * 256 + threadIdx.x;
	volatile unsigned *count = (volatile unsigned *)&table[n & 31];
	unsigned before = count[32];

	if (i < n && before < 5)
		z[i] = 2 * x[i] + y[i];
	if (i == n - 1)
		count[32] = before + 1;
}
