/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail wrong-all */
/* on mm */
/* Tensor cores with sums in halves. */
#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

extern "C" __global__ void mm(const __half *A, const __half *B, float *C, int N, int K)
{
	__shared__ __half tile[256];
	wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> a;
	wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> b;
	wmma::fragment<wmma::accumulator, 16, 16, 16, __half> c;
	int m = blockIdx.y * 16, n = blockIdx.x * 16;

	wmma::fill_fragment(c, __float2half(0));
	for (int k = 0; k < K; k += 16) {
		wmma::load_matrix_sync(a, A + m * K + k, K);
		wmma::load_matrix_sync(b, B + n * K + k, K);
		wmma::mma_sync(c, a, b, c);
	}
	wmma::store_matrix_sync(tile, c, 16, wmma::mem_row_major);
	__syncwarp();
	for (int i = threadIdx.x; i < 256; i += 32)
		C[(m + i / 16) * N + n + i % 16] = __half2float(tile[i]);
}
