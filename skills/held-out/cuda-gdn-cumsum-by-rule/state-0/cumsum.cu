/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cumsum - running sums of g along T, begun anew every 64 tokens.
 *
 * g and G are [B, T, H] in fp32; T is a multiple of 64, H of 4.
 */
#define CHUNK 64
#define HEADS 16		/* of a warp */
#define QUADS (HEADS / 4)
#define RUN 8			/* tokens in a row that a thread adds up */
#define ALL 0xffffffffu

static __device__ float4 add(float4 a, float4 b)
{
	return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}

static __device__ float4 shuffle_up(float4 v, int lanes)
{
	return make_float4(__shfl_up_sync(ALL, v.x, lanes), __shfl_up_sync(ALL, v.y, lanes),
			   __shfl_up_sync(ALL, v.z, lanes), __shfl_up_sync(ALL, v.w, lanes));
}

/* A warp has a chunk of 16 heads: a thread 8 tokens of 4 heads, in its registers. */
extern "C" __global__ void 
cumsum(const float *g, float *G, int H)
{
	int run = threadIdx.x / QUADS, h = blockIdx.y * HEADS + threadIdx.x % QUADS * 4;
	long at = ((long)blockIdx.x * CHUNK + run * RUN) * H + h;
	float4 zero = make_float4(0, 0, 0, 0), v[RUN], sum, before;

	for (int i = 0; i < RUN; i++)
		v[i] = h < H ? *(const float4 *)&g[at + (long)i * H] : zero;
	for (int i = 1; i < RUN; i++)
		v[i] = add(v[i], v[i - 1]);
	sum = v[RUN - 1];
	for (int d = 1; d < CHUNK / RUN; d *= 2) {
		float4 other = shuffle_up(sum, d * QUADS);

		if (run >= d)
			sum = add(sum, other);
	}
	before = shuffle_up(sum, QUADS);
	if (run == 0)
		before = zero;
	if (h < H)
		for (int i = 0; i < RUN; i++)
			*(float4 *)&G[at + (long)i * H] = add(v[i], before);
}
