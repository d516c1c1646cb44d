/* SPDX-License-Identifier: Apache-2.0 */
/* gate: pass */
/* on mm */
/* Halves multiplied, floats added up. */
#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

extern "C" __global__ void mm(const __half *A, const __half *B, float *C, int N, int K)
{
	wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> a;
	wmma::fragment<wmma::matrix_b, 16, 16, 16, __half, wmma::col_major> b;
	wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
	int m = blockIdx.y * 16, n = blockIdx.x * 16;

	wmma::fill_fragment(c, 0);
	for (int k = 0; k < K; k += 16) {
		wmma::load_matrix_sync(a, A + m * K + k, K);
		wmma::load_matrix_sync(b, B + n * K + k, K);
		wmma::mma_sync(c, a, b, c);
	}
	wmma::store_matrix_sync(C + m * N + n, c, N, wmma::mem_row_major);
}
