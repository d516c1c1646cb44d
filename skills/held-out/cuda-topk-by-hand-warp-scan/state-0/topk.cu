/* SPDX-License-Identifier: Apache-2.0 */
/*
 * topk - the k largest of each row of x, with their columns, in any order.
 *
 * Values are ordered -inf < ... < -0 < +0 < ... < +inf; there is no NaN.
 * Of equal values any may be taken. cols is at most 4096.
 */
#define THREADS 256
#define MAX_COLS 4096
#define DIGIT 8
#define BINS (1 << DIGIT)	/* as many as threads */

struct found {
	unsigned bin;
	int above;		/* keys above the bin */
};

/* unsigned integers that order as the floats do; 0 is no number's */
static __device__ unsigned to_key(float x)
{
	unsigned bits = __float_as_uint(x);

	return bits ^ ((unsigned)((int)bits >> 31) | 0x80000000u);
}

static __device__ float to_value(unsigned key)
{
	return __uint_as_float(key & 0x80000000u ? key ^ 0x80000000u : ~key);
}

/* the bin in which the k-th key from above lies: a thread a bin, sums by doubling */
static __device__ struct found find(const unsigned *bins, int k, int *sums, struct found *f)
{
	int tid = threadIdx.x, mine = bins[BINS - 1 - tid], above;

	sums[tid] = mine;
	__syncthreads();
	for (int d = 1; d < THREADS; d *= 2) {
		int before = tid >= d ? sums[tid - d] : 0;

		__syncthreads();
		sums[tid] += before;
		__syncthreads();
	}
	above = sums[tid] - mine;
	if (above < k && above + mine >= k)
		*f = { (unsigned)(BINS - 1 - tid), above };
	__syncthreads();
	return *f;
}

extern "C" __global__ void topk(const float *x, float *values, int *indices, int cols, int k)
{
	__shared__ unsigned key[MAX_COLS], bins[BINS];
	__shared__ int sums[THREADS], above, equal;
	__shared__ struct found f;
	int tid = threadIdx.x, shift = 32, taken = 0;
	unsigned low = 0;

	x += (size_t)blockIdx.x * cols;
	values += (size_t)blockIdx.x * k;
	indices += (size_t)blockIdx.x * k;
	above = equal = 0;
	for (int j = tid; j < cols; j += THREADS)
		key[j] = to_key(x[j]);
	/* the k-th key, digit by digit: only keys that begin as it does are counted */
	while (shift) {
		unsigned high = shift < 32 ? low >> shift : 0;
		struct found b;

		for (int i = tid; i < BINS; i += THREADS)
			bins[i] = 0;
		__syncthreads();
		for (int j = tid; j < cols; j += THREADS)
			if (shift == 32 || key[j] >> shift == high)
				atomicAdd(&bins[key[j] >> (shift - DIGIT) & (BINS - 1)], 1);
		__syncthreads();
		b = find(bins, k - taken, sums, &f);
		shift -= DIGIT;
		low |= b.bin << shift;
		taken += b.above;
	}
	/* what lies above it, and as many of its equals as are wanted */
	for (int j = tid; j < cols; j += THREADS) {
		int to = -1;

		if (key[j] > low)
			to = atomicAdd(&above, 1);
		else if (key[j] == low)
			to = taken + atomicAdd(&equal, 1);
		if (to >= 0 && to < k) {
			values[to] = to_value(key[j]);
			indices[to] = j;
		}
	}
}
