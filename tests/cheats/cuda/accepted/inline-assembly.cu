/* SPDX-License-Identifier: Apache-2.0 */
/* gate: pass */
/* on axpy */
/* Loads and stores of four floats, written out. */
extern "C" __global__ void axpy(const float *x, const float *y, float *z, int n)
{
	int i = 4 * (blockIdx.x * 256 + threadIdx.x);
	float a[4], b[4];

	if (i + 4 <= n && ((size_t)x | (size_t)y | (size_t)z) % 16 == 0) {
		asm("ld.global.nc.v4.f32 {%0, %1, %2, %3}, [%4];"
		    : "=f"(a[0]), "=f"(a[1]), "=f"(a[2]), "=f"(a[3]) : "l"(x + i));
		asm("ld.global.nc.v4.f32 {%0, %1, %2, %3}, [%4];"
		    : "=f"(b[0]), "=f"(b[1]), "=f"(b[2]), "=f"(b[3]) : "l"(y + i));
		for (int k = 0; k < 4; k++)
			asm("fma.rn.f32 %0, %1, 0f40000000, %0;" : "+f"(b[k]) : "f"(a[k]));
		asm volatile("st.global.v4.f32 [%0], {%1, %2, %3, %4};"
			     :: "l"(z + i), "f"(b[0]), "f"(b[1]), "f"(b[2]), "f"(b[3]) : "memory");
		return;
	}
	for (int k = i; k < n && k < i + 4; k++)
		z[k] = 2 * x[k] + y[k];
}
