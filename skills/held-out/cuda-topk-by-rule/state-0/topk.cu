/* SPDX-License-Identifier: Apache-2.0 */
/*
 * topk - the k largest of each row of x, with their columns, in any order.
 *
 * Values are ordered -inf < ... < -0 < +0 < ... < +inf; there is no NaN.
 * Of equal values those of lower columns are taken. cols is a multiple of 4, at most 4096.
 */
#define THREADS 1024
#define KEYS 4			/* of a row, that a thread holds: columns side by side */
#define BITS 12			/* of a key's first digit; two of 10 follow */
#define BINS (1 << BITS)
#define PER (BINS / THREADS)
#define LIST_BITS 10
#define LIST (1 << LIST_BITS)	/* keys of one bin that are ranked at once */
#define ALL 0xffffffffu

struct found {
	unsigned bin;
	int above, inside;	/* keys above the bin, in it */
};

/* unsigned integers that order as the floats do; 0 is no number's */
static __device__ unsigned to_key(float x)
{
	unsigned bits = __float_as_uint(x);

	return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

static __device__ float to_value(unsigned key)
{
	return __uint_as_float(key & 0x80000000u ? key ^ 0x80000000u : ~key);
}

static __device__ int warp_scan(int x)
{
	int lane = threadIdx.x % 32;

	for (int d = 1; d < 32; d *= 2) {
		int y = __shfl_up_sync(ALL, x, d);

		if (lane >= d)
			x += y;
	}
	return x;
}

/* sum over the warps before this one */
static __device__ int warps_before(const int *sums)
{
	int lane = threadIdx.x % 32, warp = threadIdx.x / 32;

	return __reduce_add_sync(ALL, lane < warp ? sums[lane] : 0);
}

/* the bin in which the k-th key from above lies: a thread several bins */
static __device__ struct found find(const unsigned *bins, int k, int *sums, struct found *f)
{
	int tid = threadIdx.x, bottom = BINS - PER * (tid + 1);
	int mine = 0, above;
	unsigned n[PER];

	for (int i = 0; i < PER; i++)
		mine += n[i] = bins[bottom + i];
	above = warp_scan(mine);
	if (tid % 32 == 31)
		sums[tid / 32] = above;
	__syncthreads();
	above += warps_before(sums) - mine;
	if (above < k && above + mine >= k)
		for (int i = PER - 1; i >= 0; i--) {
			if (above < k && above + (int)n[i] >= k)
				*f = { (unsigned)(bottom + i), above, (int)n[i] };
			above += n[i];
		}
	__syncthreads();
	return *f;
}

/*
 * A list's keys by rank, four threads a key: those of rank below `want` go to their
 * place. No two are equal; zeros follow them.
 */
static __device__ void rank_list(const unsigned *list, const int *column, int n, int want,
				 unsigned low, float *values, int *indices)
{
	for (int i = threadIdx.x / 4; i < (n + 7) / 8 * 8; i += THREADS / 4) {
		unsigned me = list[i];
		int rank = 0;

		for (int j = threadIdx.x % 4 * 4; j < n; j += 16) {
			uint4 other = *(const uint4 *)&list[j];

			rank += (other.x > me) + (other.y > me) + (other.z > me) + (other.w > me);
		}
		rank += __shfl_xor_sync(ALL, rank, 1);
		rank += __shfl_xor_sync(ALL, rank, 2);
		if (threadIdx.x % 4 == 0 && i < n && rank < want) {
			values[rank] = to_value(low + (me >> LIST_BITS));
			indices[rank] = column[i];
		}
	}
}

extern "C" __global__ void 
topk(const float *x, float *values, int *indices, int cols, int k)
{
	__shared__ __align__(16) unsigned bins[BINS];
	__shared__ __align__(16) unsigned list[LIST];
	__shared__ int column[LIST];
	__shared__ int sums[THREADS / 32];
	__shared__ struct found f;
	struct found b;
	int tid = threadIdx.x, shift = 32, taken = 0, place = 0, mine = 0;
	unsigned low = 0, high, key[KEYS] = {}, before = (1u << tid % 32) - 1;
	const float4 *row = (const float4 *)(x + (size_t)blockIdx.x * cols);

	values += (size_t)blockIdx.x * k;
	indices += (size_t)blockIdx.x * k;
	if (tid < cols / KEYS) {
		float4 v = row[tid];

		key[0] = to_key(v.x);
		key[1] = to_key(v.y);
		key[2] = to_key(v.z);
		key[3] = to_key(v.w);
	}
	list[tid] = 0;
	/*
	 * The k-th key, digit by digit, until few enough keys begin as it does;
	 * only keys that do are counted.
	 */
	do {
		int digit = shift == 32 ? BITS : (32 - BITS) / 2;

		high = shift < 32 ? low >> shift : 0;
		for (int i = tid; i < BINS; i += THREADS)
			bins[i] = 0;
		__syncthreads();
		for (int i = 0; i < KEYS; i++)
			if (key[i] && (shift == 32 || key[i] >> shift == high))
				atomicAdd(&bins[key[i] >> (shift - digit) & ((1u << digit) - 1)], 1);
		__syncthreads();
		b = find(bins, k - taken, sums, &f);
		shift -= digit;
		low |= b.bin << shift;
		taken += b.above;
	} while (b.inside > LIST && shift);
	high = low | ((1u << shift) - 1);
	/*
	 * What lies above the bin is taken. What lies in it goes to the list, or,
	 * being all equal, is taken as well, as much as is wanted. `place` has how many
	 * of the first, and of the second << 16, come before this thread's.
	 */
	for (int i = 0; i < KEYS; i++) {
		unsigned above = __ballot_sync(ALL, key[i] > high);
		unsigned inside = __ballot_sync(ALL, key[i] >= low && key[i] <= high);

		mine += __popc(above) + (__popc(inside) << 16);
		place += __popc(above & before) + (__popc(inside & before) << 16);
	}
	if (tid % 32 == 0)
		sums[tid / 32] = mine;
	__syncthreads();
	place += warps_before(sums);
	for (int i = 0; i < KEYS; i++) {
		int to = k, n = place >> 16;

		if (key[i] > high) {
			to = place & 0xffff;
			place += 1;
		} else if (key[i] >= low) {
			place += 1 << 16;
			if (b.inside > LIST) {
				to = taken + n;
			} else {
				list[n] = (key[i] - low) << LIST_BITS | (LIST - 1 - n);
				column[n] = KEYS * tid + i;
			}
		}
		if (to < k) {
			values[to] = to_value(key[i]);
			indices[to] = KEYS * tid + i;
		}
	}
	if (b.inside > LIST)
		return;
	__syncthreads();
	rank_list(list, column, b.inside, k - taken, low, values + taken, indices + taken);
}
