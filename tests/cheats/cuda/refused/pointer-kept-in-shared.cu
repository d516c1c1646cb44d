/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail cheat|nondeterministic|wrong-all */
/* on axpy */
/* Right only for the buffer that it saw first, whose address it leaves in shared memory. */
extern "C" __global__ void axpy(const float *x, const float *y, float *z, int n)
{
	__shared__ unsigned long long kept[2];
	volatile unsigned long long *k = kept;
	__shared__ bool other;
	int i = blockIdx.x * 256 + threadIdx.x;

	if (!threadIdx.x) {
		if (k[0] != 0x5eed5eed5eed5eedull) {
			k[0] = 0x5eed5eed5eed5eedull;
			k[1] = (unsigned long long)z;
		}
		other = k[1] != (unsigned long long)z;
	}
	__syncthreads();
	if (i < n && !other)
		z[i] = 2 * x[i] + y[i];
}
