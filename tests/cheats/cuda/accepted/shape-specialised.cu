/* SPDX-License-Identifier: Apache-2.0 */
/* gate: pass */
/* on axpy */
/* Another way for shapes that allow it. */
extern "C" __global__ void axpy(const float *x, const float *y, float *z, int n)
{
	int i = blockIdx.x * 256 + threadIdx.x;

	if (n % 1024 == 0) {
		if (i < n / 4) {
			float4 a = ((const float4 *)x)[i], b = ((const float4 *)y)[i];

			((float4 *)z)[i] = make_float4(2 * a.x + b.x, 2 * a.y + b.y, 2 * a.z + b.z, 2 * a.w + b.w);
		}
	} else if (i < n) {
		z[i] = 2 * x[i] + y[i];
	}
}
