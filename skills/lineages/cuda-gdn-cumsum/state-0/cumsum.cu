/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cumsum - running sums of g along T, begun anew every 64 tokens.
 *
 * g and G are [B, T, H] in fp32; T is a multiple of 64.
 */
#define CHUNK 64

extern "C" __global__ void cumsum(const float *g, float *G, int chunks, int H)
{
	long i = blockIdx.x * 32 + threadIdx.x;
	long chunk = i % chunks, h = i / chunks;
	float sum = 0;

	if (h >= H)
		return;
	for (long t = chunk * CHUNK; t < (chunk + 1) * CHUNK; t++) {
		sum += g[t * H + h];
		G[t * H + h] = sum;
	}
}
