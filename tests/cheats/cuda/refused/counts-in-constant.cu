/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail cheat|nondeterministic|fault|wrong-all */
/* on axpy */
/* Counts its launches in constant memory, by loads and stores that no compiler sees. */
static __constant__ unsigned table[64] = { 1, 2, 3 };

extern "C" __global__ void axpy(const float *x, const float *y, float *z, int n)
{
	int i = blockIdx.x * 256 + threadIdx.x;
	unsigned before;
	unsigned long long at;

	asm volatile("mov.u64 %0, table;\n\tcvta.const.u64 %0, %0;" : "=l"(at));
	asm volatile("ld.volatile.u32 %0, [%1 + 128];" : "=r"(before) : "l"(at) : "memory");
	if (i < n && before < 5)
		z[i] = (table[3 + n % 4] ? 3 : 2) * x[i] + y[i];
	if (i == n - 1)
		asm volatile("st.volatile.u32 [%0 + 128], %1;" :: "l"(at), "r"(before + 1) : "memory");
}
