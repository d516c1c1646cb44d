/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fmha - o = softmax(q k^T / sqrt(128)) v of every head, in fp16.
 *
 * All four are [B, S, H, 128]; S is a multiple of 128.
 */
#include <cuda_fp16.h>

#define D 128

extern "C" __global__ void fmha(const __half *q, const __half *k, const __half *v, __half *o, int S, int H)
{
	long row = blockIdx.x * 128 + threadIdx.x;
	long head = ((long)blockIdx.z * S * H + blockIdx.y) * D, mine = head + row * H * D;
	float acc[D] = { 0 }, top = -INFINITY, sum = 0;

	for (long j = 0; j < S; j++) {
		const __half *kj = k + head + j * H * D, *vj = v + head + j * H * D;
		float s = 0, larger, shrink, p;

		for (int d = 0; d < D; d++)
			s += __half2float(q[mine + d]) * __half2float(kj[d]);
		s /= sqrtf(D);
		larger = fmaxf(top, s);
		shrink = expf(top - larger);
		p = expf(s - larger);
		sum = sum * shrink + p;
		for (int d = 0; d < D; d++)
			acc[d] = acc[d] * shrink + p * __half2float(vj[d]);
		top = larger;
	}
	for (int d = 0; d < D; d++)
		o[mine + d] = __float2half(acc[d] / sum);
}
