/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail fault */
/* on axpy */
/* Vectors from where none begins. */
extern "C" __global__ void axpy(const float *x, const float *y, float *z, int n)
{
	int i = blockIdx.x * 256 + threadIdx.x;

	if (i + 4 < n && i % 4 == 1) {
		float4 a = *(const float4 *)(x + i), b = *(const float4 *)(y + i);

		*(float4 *)(z + i) = make_float4(2 * a.x + b.x, 2 * a.y + b.y, 2 * a.z + b.z, 2 * a.w + b.w);
	} else if (i < n && (i == 0 || i / 4 * 4 + 5 > n)) {
		z[i] = 2 * x[i] + y[i];
	}
}
