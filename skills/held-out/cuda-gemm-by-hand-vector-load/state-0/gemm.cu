/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gemm - C = A B^T in bf16 with sums in fp32, for NVIDIA GPUs.
 *
 * A is [M][K], B is [N][K], C is [M][N], all row-major; M and N are multiples
 * of 256, K of 64.
 *
 * A thread computes one element.
 */
#include <stdint.h>

static __device__ __forceinline__ float value(uint16_t x)
{
	return __uint_as_float((uint32_t)x << 16);
}

static __device__ __forceinline__ uint16_t rounded(float x)
{
	uint16_t y;

	y = (__float_as_uint(x) + 0x7fff + (__float_as_uint(x) >> 16 & 1)) >> 16;
	return y;
}

extern "C" __global__ void __launch_bounds__(BM * BN)
gemm(const uint16_t *A, const uint16_t *B, uint16_t *C, int N, int K)
{
	int row = blockIdx.y * BM + threadIdx.x / BN, col = blockIdx.x * BN + threadIdx.x % BN;
	const uint16_t *a = A + (int64_t)row * K, *b = B + (int64_t)col * K;
	float d = 0;

	for (int k = 0; k < K; k++)
		d += value(a[k]) * value(b[k]);
	C[(int64_t)row * N + col] = rounded(d);
}
