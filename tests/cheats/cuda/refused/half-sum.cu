/* SPDX-License-Identifier: Apache-2.0 */
/* gate: fail wrong-all */
/* on mm */
/* Sums in halves, which count to 2048. */
#include <cuda_fp16.h>

extern "C" __global__ void mm(const __half *A, const __half *B, float *C, int N, int K)
{
	int m = blockIdx.y * 16 + threadIdx.y, n = blockIdx.x * 16 + threadIdx.x;
	__half2 sum = __float2half2_rn(0);

	for (int k = 0; k < K; k += 2)
		sum = __hfma2(*(const __half2 *)&A[m * K + k], *(const __half2 *)&B[n * K + k], sum);
	C[m * N + n] = __low2float(sum) + __high2float(sum);
}
