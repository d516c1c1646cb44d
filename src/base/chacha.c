/* SPDX-License-Identifier: Apache-2.0 */
#include "base/chacha.h"

#include <string.h>

#define WORDS 16
#define LANES KL_CHACHA_WIDE

/* One word of each of the LANES blocks that are computed together. */
typedef uint32_t lanes __attribute__((vector_size(4 * LANES)));

/* the bytes "expand 32-byte k" as words, as RFC 8439 defines */
static const uint32_t constant[4] = { 0x61707865, 0x3320646e, 0x79622d32, 0x6b206574 };

#define ROTATE(word, n) ((word) << (n) | (word) >> (32 - (n)))

#define ADD_MIX(sum, add, mix, n)       \
	do {                            \
		(sum) += (add);         \
		(mix) ^= (sum);         \
		(mix) = ROTATE(mix, n); \
	} while (0)

#define QUARTER(a, b, c, d)           \
	do {                          \
		ADD_MIX(a, b, d, 16); \
		ADD_MIX(c, d, b, 12); \
		ADD_MIX(a, b, d, 8);  \
		ADD_MIX(c, d, b, 7);  \
	} while (0)

/* Use a separate variable for each word, because compilers do not keep an array in registers. */
#define DOUBLE_ROUND                       \
	do {                               \
		QUARTER(x0, x4, x8, x12);  \
		QUARTER(x1, x5, x9, x13);  \
		QUARTER(x2, x6, x10, x14); \
		QUARTER(x3, x7, x11, x15); \
		QUARTER(x0, x5, x10, x15); \
		QUARTER(x1, x6, x11, x12); \
		QUARTER(x2, x7, x8, x13);  \
		QUARTER(x3, x4, x9, x14);  \
	} while (0)

/*
 * Combine two vectors, each 128-bit half by itself: interleave the two lower (LOW_32) or upper
 * (HIGH_32) 32-bit words of `a` and `b`, or join their lower (LOW_64) or upper (HIGH_64) 64 bits.
 */
#define LOW_32(a, b) __builtin_shufflevector(a, b, 0, 8, 1, 9, 4, 12, 5, 13)
#define HIGH_32(a, b) __builtin_shufflevector(a, b, 2, 10, 3, 11, 6, 14, 7, 15)
#define LOW_64(a, b) __builtin_shufflevector(a, b, 0, 1, 8, 9, 4, 5, 12, 13)
#define HIGH_64(a, b) __builtin_shufflevector(a, b, 2, 3, 10, 11, 6, 7, 14, 15)

/* Write words `at` to `at` + 3 of all blocks. The halves of row[k] belong to blocks k and k + 4. */
#define WRITE_FOUR(out, at, a, b, c, d)                                                 \
	do {                                                                            \
		lanes low_ab = LOW_32(a, b), low_cd = LOW_32(c, d);                     \
		lanes high_ab = HIGH_32(a, b), high_cd = HIGH_32(c, d);                 \
		lanes row[4] = { LOW_64(low_ab, low_cd), HIGH_64(low_ab, low_cd),       \
				 LOW_64(high_ab, high_cd), HIGH_64(high_ab, high_cd) }; \
                                                                                        \
		for (int k = 0; k < LANES; k++)                                         \
			memcpy((out) + KL_CHACHA_BYTES * k + 4 * (at),                  \
			       (const char *)&row[k % 4] + 16 * (k / 4), 16);           \
	} while (0)

#define START(i) (state[i] - (lanes){ 0 })
#define COUNT (START(12) + (lanes){ 0, 1, 2, 3, 4, 5, 6, 7 })

/*
 * Define a function that writes LANES blocks. `attribute` is empty, or names the processor features
 * that the compiler can use for this function.
 */
#define DEFINE_WRITE(name, attribute)                                                 \
	attribute static void name(unsigned char *out, const uint32_t state[WORDS])   \
	{                                                                             \
		lanes x0 = START(0), x1 = START(1), x2 = START(2), x3 = START(3);     \
		lanes x4 = START(4), x5 = START(5), x6 = START(6), x7 = START(7);     \
		lanes x8 = START(8), x9 = START(9), x10 = START(10), x11 = START(11); \
		lanes x12 = COUNT, x13 = START(13), x14 = START(14), x15 = START(15); \
                                                                                      \
		for (int i = 0; i < 10; i++)                                          \
			DOUBLE_ROUND;                                                 \
		x0 += START(0), x1 += START(1), x2 += START(2), x3 += START(3);       \
		x4 += START(4), x5 += START(5), x6 += START(6), x7 += START(7);       \
		x8 += START(8), x9 += START(9), x10 += START(10), x11 += START(11);   \
		x12 += COUNT, x13 += START(13), x14 += START(14), x15 += START(15);   \
		WRITE_FOUR(out, 0, x0, x1, x2, x3);                                   \
		WRITE_FOUR(out, 4, x4, x5, x6, x7);                                   \
		WRITE_FOUR(out, 8, x8, x9, x10, x11);                                 \
		WRITE_FOUR(out, 12, x12, x13, x14, x15);                              \
	}

DEFINE_WRITE(write_plain, )

#ifdef __x86_64__
DEFINE_WRITE(write_avx2, __attribute__((target("avx2"))))
/* with AVX-512, one instruction rotates a word */
DEFINE_WRITE(write_avx512, __attribute__((target("avx512vl"))))

static void write_lanes(unsigned char *out, const uint32_t state[WORDS])
{
	if (__builtin_cpu_supports("avx512vl"))
		write_avx512(out, state);
	else if (__builtin_cpu_supports("avx2"))
		write_avx2(out, state);
	else
		write_plain(out, state);
}
#else
static void write_lanes(unsigned char *out, const uint32_t state[WORDS])
{
	write_plain(out, state);
}
#endif

void kl_chacha_blocks(struct kl_chacha *chacha, void *out, size_t n)
{
	unsigned char *to = out, some[LANES * KL_CHACHA_BYTES];
	uint32_t state[WORDS];

	memcpy(state, constant, sizeof(constant));
	memcpy(state + 4, chacha->key, sizeof(chacha->key));
	state[12] = chacha->counter;
	memcpy(state + 13, chacha->nonce, sizeof(chacha->nonce));
	for (; n >= LANES; n -= LANES, to += sizeof(some), state[12] += LANES)
		write_lanes(to, state);
	if (n) {
		write_lanes(some, state);
		memcpy(to, some, n * KL_CHACHA_BYTES);
		state[12] += (uint32_t)n;
	}
	chacha->counter = state[12];
}
