/* SPDX-License-Identifier: Apache-2.0 */
/*
 * topk - the k largest of each row of x, with their columns, in any order.
 *
 * Values are ordered -inf < ... < -0 < +0 < ... < +inf; there is no NaN.
 * Of equal values any may be taken.
 */
#include <immintrin.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define DIGIT_BITS 8
#define BINS (1 << DIGIT_BITS)
#define LANES 8

/* A row's sample: 256 of its keys, in 32 runs of 8 spread over the row. */
#define RUNS 4
#define SAMPLE (RUNS * LANES)

/* How much deeper than its share of k the sample is read: 2 to 3 sigma. */
#define MARGIN 4

/* Rows of one call share it; a list can hold a row and one vector more. */
struct scratch {
	uint32_t *keys;
	int32_t *columns;
};

/* Unsigned order of the keys is the order of the values. */
static uint32_t order_key(float v)
{
	uint32_t u;

	memcpy(&u, &v, sizeof(u));
	return u & 0x80000000u ? ~u : u | 0x80000000u;
}

static float key_value(uint32_t key)
{
	uint32_t u = key & 0x80000000u ? key & 0x7fffffffu : ~key;
	float v;

	memcpy(&v, &u, sizeof(v));
	return v;
}

static __m256i order_keys(__m256i u)
{
	__m256i flip = _mm256_or_si256(_mm256_srai_epi32(u, 31),
				       _mm256_set1_epi32(INT32_MIN));

	return _mm256_xor_si256(u, flip);
}

static __m256i key_values(__m256i keys)
{
	__m256i flip = _mm256_or_si256(
		_mm256_xor_si256(_mm256_srai_epi32(keys, 31),
				 _mm256_set1_epi32(-1)),
		_mm256_set1_epi32(INT32_MIN));

	return _mm256_xor_si256(keys, flip);
}

/* The columns of the bits set in 0 ... 255, in order, a byte each. */
static const uint64_t set_bits[256] = {
	0x0000000000000000ull, 0x0000000000000000ull, 0x0000000000000001ull,
	0x0000000000000100ull, 0x0000000000000002ull, 0x0000000000000200ull,
	0x0000000000000201ull, 0x0000000000020100ull, 0x0000000000000003ull,
	0x0000000000000300ull, 0x0000000000000301ull, 0x0000000000030100ull,
	0x0000000000000302ull, 0x0000000000030200ull, 0x0000000000030201ull,
	0x0000000003020100ull, 0x0000000000000004ull, 0x0000000000000400ull,
	0x0000000000000401ull, 0x0000000000040100ull, 0x0000000000000402ull,
	0x0000000000040200ull, 0x0000000000040201ull, 0x0000000004020100ull,
	0x0000000000000403ull, 0x0000000000040300ull, 0x0000000000040301ull,
	0x0000000004030100ull, 0x0000000000040302ull, 0x0000000004030200ull,
	0x0000000004030201ull, 0x0000000403020100ull, 0x0000000000000005ull,
	0x0000000000000500ull, 0x0000000000000501ull, 0x0000000000050100ull,
	0x0000000000000502ull, 0x0000000000050200ull, 0x0000000000050201ull,
	0x0000000005020100ull, 0x0000000000000503ull, 0x0000000000050300ull,
	0x0000000000050301ull, 0x0000000005030100ull, 0x0000000000050302ull,
	0x0000000005030200ull, 0x0000000005030201ull, 0x0000000503020100ull,
	0x0000000000000504ull, 0x0000000000050400ull, 0x0000000000050401ull,
	0x0000000005040100ull, 0x0000000000050402ull, 0x0000000005040200ull,
	0x0000000005040201ull, 0x0000000504020100ull, 0x0000000000050403ull,
	0x0000000005040300ull, 0x0000000005040301ull, 0x0000000504030100ull,
	0x0000000005040302ull, 0x0000000504030200ull, 0x0000000504030201ull,
	0x0000050403020100ull, 0x0000000000000006ull, 0x0000000000000600ull,
	0x0000000000000601ull, 0x0000000000060100ull, 0x0000000000000602ull,
	0x0000000000060200ull, 0x0000000000060201ull, 0x0000000006020100ull,
	0x0000000000000603ull, 0x0000000000060300ull, 0x0000000000060301ull,
	0x0000000006030100ull, 0x0000000000060302ull, 0x0000000006030200ull,
	0x0000000006030201ull, 0x0000000603020100ull, 0x0000000000000604ull,
	0x0000000000060400ull, 0x0000000000060401ull, 0x0000000006040100ull,
	0x0000000000060402ull, 0x0000000006040200ull, 0x0000000006040201ull,
	0x0000000604020100ull, 0x0000000000060403ull, 0x0000000006040300ull,
	0x0000000006040301ull, 0x0000000604030100ull, 0x0000000006040302ull,
	0x0000000604030200ull, 0x0000000604030201ull, 0x0000060403020100ull,
	0x0000000000000605ull, 0x0000000000060500ull, 0x0000000000060501ull,
	0x0000000006050100ull, 0x0000000000060502ull, 0x0000000006050200ull,
	0x0000000006050201ull, 0x0000000605020100ull, 0x0000000000060503ull,
	0x0000000006050300ull, 0x0000000006050301ull, 0x0000000605030100ull,
	0x0000000006050302ull, 0x0000000605030200ull, 0x0000000605030201ull,
	0x0000060503020100ull, 0x0000000000060504ull, 0x0000000006050400ull,
	0x0000000006050401ull, 0x0000000605040100ull, 0x0000000006050402ull,
	0x0000000605040200ull, 0x0000000605040201ull, 0x0000060504020100ull,
	0x0000000006050403ull, 0x0000000605040300ull, 0x0000000605040301ull,
	0x0000060504030100ull, 0x0000000605040302ull, 0x0000060504030200ull,
	0x0000060504030201ull, 0x0006050403020100ull, 0x0000000000000007ull,
	0x0000000000000700ull, 0x0000000000000701ull, 0x0000000000070100ull,
	0x0000000000000702ull, 0x0000000000070200ull, 0x0000000000070201ull,
	0x0000000007020100ull, 0x0000000000000703ull, 0x0000000000070300ull,
	0x0000000000070301ull, 0x0000000007030100ull, 0x0000000000070302ull,
	0x0000000007030200ull, 0x0000000007030201ull, 0x0000000703020100ull,
	0x0000000000000704ull, 0x0000000000070400ull, 0x0000000000070401ull,
	0x0000000007040100ull, 0x0000000000070402ull, 0x0000000007040200ull,
	0x0000000007040201ull, 0x0000000704020100ull, 0x0000000000070403ull,
	0x0000000007040300ull, 0x0000000007040301ull, 0x0000000704030100ull,
	0x0000000007040302ull, 0x0000000704030200ull, 0x0000000704030201ull,
	0x0000070403020100ull, 0x0000000000000705ull, 0x0000000000070500ull,
	0x0000000000070501ull, 0x0000000007050100ull, 0x0000000000070502ull,
	0x0000000007050200ull, 0x0000000007050201ull, 0x0000000705020100ull,
	0x0000000000070503ull, 0x0000000007050300ull, 0x0000000007050301ull,
	0x0000000705030100ull, 0x0000000007050302ull, 0x0000000705030200ull,
	0x0000000705030201ull, 0x0000070503020100ull, 0x0000000000070504ull,
	0x0000000007050400ull, 0x0000000007050401ull, 0x0000000705040100ull,
	0x0000000007050402ull, 0x0000000705040200ull, 0x0000000705040201ull,
	0x0000070504020100ull, 0x0000000007050403ull, 0x0000000705040300ull,
	0x0000000705040301ull, 0x0000070504030100ull, 0x0000000705040302ull,
	0x0000070504030200ull, 0x0000070504030201ull, 0x0007050403020100ull,
	0x0000000000000706ull, 0x0000000000070600ull, 0x0000000000070601ull,
	0x0000000007060100ull, 0x0000000000070602ull, 0x0000000007060200ull,
	0x0000000007060201ull, 0x0000000706020100ull, 0x0000000000070603ull,
	0x0000000007060300ull, 0x0000000007060301ull, 0x0000000706030100ull,
	0x0000000007060302ull, 0x0000000706030200ull, 0x0000000706030201ull,
	0x0000070603020100ull, 0x0000000000070604ull, 0x0000000007060400ull,
	0x0000000007060401ull, 0x0000000706040100ull, 0x0000000007060402ull,
	0x0000000706040200ull, 0x0000000706040201ull, 0x0000070604020100ull,
	0x0000000007060403ull, 0x0000000706040300ull, 0x0000000706040301ull,
	0x0000070604030100ull, 0x0000000706040302ull, 0x0000070604030200ull,
	0x0000070604030201ull, 0x0007060403020100ull, 0x0000000000070605ull,
	0x0000000007060500ull, 0x0000000007060501ull, 0x0000000706050100ull,
	0x0000000007060502ull, 0x0000000706050200ull, 0x0000000706050201ull,
	0x0000070605020100ull, 0x0000000007060503ull, 0x0000000706050300ull,
	0x0000000706050301ull, 0x0000070605030100ull, 0x0000000706050302ull,
	0x0000070605030200ull, 0x0000070605030201ull, 0x0007060503020100ull,
	0x0000000007060504ull, 0x0000000706050400ull, 0x0000000706050401ull,
	0x0000070605040100ull, 0x0000000706050402ull, 0x0000070605040200ull,
	0x0000070605040201ull, 0x0007060504020100ull, 0x0000000706050403ull,
	0x0000070605040300ull, 0x0000070605040301ull, 0x0007060504030100ull,
	0x0000070605040302ull, 0x0007060504030200ull, 0x0007060504030201ull,
	0x0706050403020100ull
};

/* The lanes where all bits of mask are set, one bit a lane. */
static unsigned int lane_bits(__m256i mask)
{
	return (unsigned int)_mm256_movemask_ps(_mm256_castsi256_ps(mask));
}

/* Store the lanes of v set in bits, packed; writes all LANES at to. */
static void store_packed(void *to, __m256i v, unsigned int bits)
{
	__m256i order = _mm256_cvtepu8_epi32(
		_mm_cvtsi64_si128((long long)set_bits[bits]));

	_mm256_storeu_si256(to, _mm256_permutevar8x32_epi32(v, order));
}

/* How the keys of a list, none below low, fall into bins. */
struct range {
	uint32_t low;
	int shift;		/* of key - low, so that its digit is < BINS */
};

static struct range make_range(uint32_t low, uint32_t high)
{
	struct range r = { low, 0 };

	while ((high - low) >> r.shift >= BINS)
		r.shift++;
	return r;
}

/*
 * The bin that holds the *k-th largest of the n listed keys; *k becomes how
 * many of that bin belong to the answer: fewer than k lie in those above.
 */
static uint32_t find_bin(int64_t n, struct range r, const struct scratch *s,
			 int64_t *k)
{
	int32_t count[BINS] = { 0 };
	uint32_t bin = BINS - 1;

	for (int64_t i = 0; i < n; i++)
		count[(s->keys[i] - r.low) >> r.shift]++;
	while (count[bin] < *k)
		*k -= count[bin--];
	return bin;
}

/* How many of the sampled keys lie below key. */
static int64_t count_below(const __m256i *sample, uint32_t key)
{
	/* There is no unsigned comparison: flip the sign of both sides. */
	const __m256i flip = _mm256_set1_epi32(INT32_MIN);
	const __m256i bound = _mm256_xor_si256(_mm256_set1_epi32((int32_t)key),
					       flip);
	__m256i below = _mm256_setzero_si256();
	int32_t lanes[LANES];

	for (int i = 0; i < RUNS; i++)
		below = _mm256_sub_epi32(below, _mm256_cmpgt_epi32(bound,
				_mm256_xor_si256(sample[i], flip)));
	_mm256_storeu_si256((__m256i *)lanes, below);
	return lanes[0] + lanes[1] + lanes[2] + lanes[3] +
	       lanes[4] + lanes[5] + lanes[6] + lanes[7];
}

/*
 * A key that at least k keys of the row will probably not lie below. It is
 * read from a sample, to 16 bits, so it is a guess and must be checked.
 */
static uint32_t guess_pivot(int64_t cols, int64_t k, const float *row)
{
	int64_t rank = k * SAMPLE / cols + MARGIN;
	__m256i sample[RUNS];
	uint32_t pivot = 0;

	if (cols < 2 * SAMPLE || rank > SAMPLE)
		return 0;
	for (int64_t i = 0; i < RUNS; i++)
		sample[i] = order_keys(_mm256_loadu_si256(
			(const __m256i *)(row + i * (cols / RUNS))));
	for (uint32_t bit = 1u << 31; bit >= 1u << 16; bit >>= 1)
		if (SAMPLE - count_below(sample, pivot | bit) >= rank)
			pivot |= bit;
	return pivot;
}

/*
 * List the keys from pivot up; returns how many, and the largest key of the
 * row in *high: it tells the bins apart later and costs nothing here. The
 * next row is on its way to the cache meanwhile. All keys are stored at the
 * cursor, which moves past the wanted ones: at most j were listed before
 * column j, so there is room for a vector, and for one key in the tail.
 */
static int64_t list_row(int64_t cols, uint32_t pivot, const float *row,
			const float *next, struct scratch *s, uint32_t *high)
{
	const __m256i bound = _mm256_set1_epi32((int32_t)pivot);
	const __m256i step = _mm256_set1_epi32(LANES);
	__m256i columns = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
	__m256i highest = _mm256_setzero_si256();
	uint32_t lanes[LANES], top = 0;
	int64_t n = 0, j = 0;

	_mm256_storeu_si256((__m256i *)lanes, highest);
	for (int i = 0; i < LANES; i++)
		top = lanes[i] > top ? lanes[i] : top;
	for (; j < cols; j++) {
		uint32_t key = order_key(row[j]);

		s->keys[n] = key;
		s->columns[n] = (int32_t)j;
		n += key >= pivot;
		top = key > top ? key : top;
	}
	*high = top;
	return n;
}

/*
 * Keys in bins above bin go to the answer, which has k slots, those in it
 * stay in the list. Returns how many went to the answer. All keys are stored
 * at both cursors and only the one they belong to moves: fewer than k lie
 * above bin, the list is packed in place behind the reader, and a whole
 * vector is stored to the answer only while it has room for one.
 */
static int64_t split_list(int64_t n, int64_t k, uint32_t bin, struct range r,
			  struct scratch *s, float *values, int32_t *indices,
			  int64_t *listed)
{
	const __m256i low = _mm256_set1_epi32((int32_t)r.low);
	const __m256i wanted = _mm256_set1_epi32((int32_t)bin);
	const __m128i shift = _mm_cvtsi32_si128(r.shift);
	int64_t out = 0, same = 0, i = 0;

	for (; i + LANES <= n && out + LANES <= k; i += LANES) {
		__m256i keys = _mm256_loadu_si256((__m256i *)(s->keys + i));
		__m256i columns =
			_mm256_loadu_si256((__m256i *)(s->columns + i));
		__m256i digit = _mm256_srl_epi32(_mm256_sub_epi32(keys, low),
						 shift);
		unsigned int above = lane_bits(_mm256_cmpgt_epi32(digit, wanted));
		unsigned int equal = lane_bits(_mm256_cmpeq_epi32(digit, wanted));

		store_packed(values + out, key_values(keys), above);
		store_packed(indices + out, columns, above);
		out += __builtin_popcount(above);
		store_packed(s->keys + same, keys, equal);
		store_packed(s->columns + same, columns, equal);
		same += __builtin_popcount(equal);
	}
	for (; i < n; i++) {
		uint32_t key = s->keys[i];
		int32_t column = s->columns[i];
		uint32_t digit = (key - r.low) >> r.shift;

		values[out] = key_value(key);
		indices[out] = column;
		out += digit > bin;
		s->keys[same] = key;
		s->columns[same] = column;
		same += digit == bin;
	}
	*listed = same;
	return out;
}

/* The k largest of the n listed keys, all of them in [low, high]. */
static void select_list(int64_t n, int64_t k, uint32_t low, uint32_t high,
			struct scratch *s, float *values, int32_t *indices)
{
	while (n > k && high > low) {
		struct range r = make_range(low, high);
		int64_t left = k, out;
		uint32_t bin = find_bin(n, r, s, &left);

		out = split_list(n, k, bin, r, s, values, indices, &n);
		values += out;
		indices += out;
		k = left;
		low = r.low + (bin << r.shift);
		if ((high - low) >> r.shift)
			high = low + ((1u << r.shift) - 1);
	}
	for (int64_t i = 0; i < k; i++) {
		values[i] = key_value(s->keys[i]);
		indices[i] = s->columns[i];
	}
}

static void select_row(int64_t cols, int64_t k, const float *row,
		       const float *next, float *values, int32_t *indices,
		       struct scratch *s)
{
	uint32_t pivot = guess_pivot(cols, k, row), high;
	int64_t listed = list_row(cols, pivot, row, next, s, &high);

	if (listed < k) {
		pivot = 0;
		listed = list_row(cols, pivot, row, next, s, &high);
	}
	select_list(listed, k, pivot, high, s, values, indices);
}

void topk(int64_t rows, int64_t cols, int64_t k, const float *x,
	  float *values, int32_t *indices)
{
	size_t n = (size_t)cols + LANES;
	struct scratch *s = malloc(sizeof(*s) + n * 8);

	if (!s)
		return;
	s->keys = (uint32_t *)(s + 1);
	s->columns = (int32_t *)(s->keys + n);
	for (int64_t r = 0; r < rows; r++) {
		const float *row = x + r * cols;
		const float *next = r + 1 < rows ? row + cols : row;

		select_row(cols, k, row, next, values + r * k,
			   indices + r * k, s);
	}
	free(s);
}
