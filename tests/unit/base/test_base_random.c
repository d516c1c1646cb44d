/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <math.h>
#include <openssl/evp.h>
#include <stdbool.h>

#include "base/key.h"
#include "base/mem.h"
#include "base/rng.h"
/* the code for other processors than this one, too */
#include "base/chacha.c"

/* --- ChaCha20 ---------------------------------------------------------------------- */

static void from_hex(unsigned char *out, const char *hex)
{
	unsigned value;

	for (; *hex; hex += 2, out++) {
		assert_int_equal(sscanf(hex, "%2x", &value), 1);
		*out = (unsigned char)value;
	}
}

static struct kl_chacha chacha_of(const char *key, const char *nonce, uint32_t counter)
{
	struct kl_chacha chacha = { .counter = counter };

	from_hex((unsigned char *)chacha.key, key);
	from_hex((unsigned char *)chacha.nonce, nonce);
	return chacha;
}

#define COUNTING "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
#define ZEROS "0000000000000000000000000000000000000000000000000000000000000000"
#define NO_NONCE "000000000000000000000000"

/* RFC 8439, sections 2.3.2 and A.1. */
static const struct {
	const char *key, *nonce;
	uint32_t counter;
	const char *block;
} blocks[] = {
	{ COUNTING, "000000090000004a00000000", 1,
	  "10f1e7e4d13b5915500fdd1fa32071c4c7d1f4c733c068030422aa9ac3d46c4e"
	  "d2826446079faa0914c2d705d98b02a2b5129cd1de164eb9cbd083e8a2503c4e" },
	{ ZEROS, NO_NONCE, 0,
	  "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"
	  "da41597c5157488d7724e03fb8d84a376a43b8f41518a11cc387b669b2ee6586" },
	{ ZEROS, NO_NONCE, 1,
	  "9f07e7be5551387a98ba977c732d080dcb0f29a048e3656912c6533e32ee7aed"
	  "29b721769ce64e43d57133b074d839d531ed1f28510afb45ace10a1f4b794d6f" },
	{ "0000000000000000000000000000000000000000000000000000000000000001", NO_NONCE, 1,
	  "3aeb5224ecf849929b9d828db1ced4dd832025e8018b8160b82284f3c949aa5a"
	  "8eca00bbb4a73bdad192b5c42f73f2fd4e273644c8b36125a64addeb006c13a0" },
	{ "00ff000000000000000000000000000000000000000000000000000000000000", NO_NONCE, 2,
	  "72d54dfbf12ec44b362692df94137f328fea8da73990265ec1bbbea1ae9af0ca"
	  "13b25aa26cb4a648cb9b9d1be65b2c0924a66c54d545ec1b7374f4872e99f096" },
	{ ZEROS, "000000000000000000000002", 0,
	  "c2c64d378cd536374ae204b9ef933fcd1a8b2288b3dfa49672ab765b54ee27c7"
	  "8a970e0e955c14f3a88e741b97c286f75f8fc299e8148362fa198a39531bed6d" },
};

static void published_blocks(void **state)
{
	for (size_t i = 0; i < KL_ARRAY_SIZE(blocks); i++) {
		struct kl_chacha chacha = chacha_of(blocks[i].key, blocks[i].nonce,
						    blocks[i].counter);
		unsigned char block[KL_CHACHA_BYTES], wanted[KL_CHACHA_BYTES];

		from_hex(wanted, blocks[i].block);
		kl_chacha_blocks(&chacha, block, 1);
		assert_memory_equal(block, wanted, sizeof(block));
		assert_int_equal(chacha.counter, blocks[i].counter + 1);
	}
}

/* RFC 8439, section 2.4.2: the keystream over the sunscreen text. */
static void a_published_text(void **state)
{
	static const char plain[] =
		"Ladies and Gentlemen of the class of '99: If I could offer you only one tip for "
		"the future, sunscreen would be it.";
	static const char wanted_hex[] =
		"6e2e359a2568f98041ba0728dd0d6981e97e7aec1d4360c20a27afccfd9fae0b"
		"f91b65c5524733ab8f593dabcd62b3571639d624e65152ab8f530c359f0861d8"
		"07ca0dbf500d6a6156a38e088a22b65e52bc514d16ccf806818ce91ab7793736"
		"5af90bbf74a35be6b40b8eedf2785e42874d";
	struct kl_chacha chacha = chacha_of(COUNTING, "000000000000004a00000000", 1);
	unsigned char stream[2 * KL_CHACHA_BYTES], wanted[sizeof(plain) - 1];

	from_hex(wanted, wanted_hex);
	kl_chacha_blocks(&chacha, stream, 2);
	for (size_t i = 0; i < sizeof(wanted); i++)
		assert_int_equal(stream[i] ^ plain[i], wanted[i]);
}

static void openssl_stream(unsigned char *out, size_t n, const struct kl_chacha *chacha)
{
	EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
	int len = 0;

	memset(out, 0, n);
	/* its iv is the counter and the nonce */
	assert_int_equal(EVP_EncryptInit_ex(context, EVP_chacha20(), NULL,
					    (const unsigned char *)chacha->key,
					    (const unsigned char *)&chacha->counter),
			 1);
	assert_int_equal(EVP_EncryptUpdate(context, out, &len, out, (int)n), 1);
	EVP_CIPHER_CTX_free(context);
}

/* Any number of blocks at once gives what OpenSSL gives. */
static void as_openssl_computes_it(void **state)
{
	enum { MOST = 37 };
	unsigned char ours[MOST * KL_CHACHA_BYTES], theirs[MOST * KL_CHACHA_BYTES];
	struct kl_rng rng;

	kl_rng_seed(&rng, 1);
	for (size_t n = 1; n <= MOST; n++) {
		struct kl_chacha chacha = { .counter = (uint32_t)kl_rng_u64(&rng) };

		for (int i = 0; i < 8; i++)
			chacha.key[i] = (uint32_t)kl_rng_u64(&rng);
		for (int i = 0; i < 3; i++)
			chacha.nonce[i] = (uint32_t)kl_rng_u64(&rng);
		openssl_stream(theirs, n * KL_CHACHA_BYTES, &chacha);
		kl_chacha_blocks(&chacha, ours, n / 2);
		kl_chacha_blocks(&chacha, ours + n / 2 * KL_CHACHA_BYTES, n - n / 2);
		assert_memory_equal(ours, theirs, n * KL_CHACHA_BYTES);
	}
}

static void write_as(const char *name, void (*write)(unsigned char *, const uint32_t *))
{
	const struct kl_chacha chacha = { .key = { 1, 2, 3 },
					  .counter = 0xfffffffdu,
					  .nonce = { 4 } };
	unsigned char ours[KL_CHACHA_WIDE * KL_CHACHA_BYTES], theirs[sizeof(ours)];
	struct kl_chacha next = chacha;
	uint32_t state[WORDS];

	memcpy(state, constant, sizeof(constant));
	memcpy(state + 4, chacha.key, sizeof(chacha.key));
	memcpy(state + 12, &chacha.counter, sizeof(uint32_t));
	memcpy(state + 13, chacha.nonce, sizeof(chacha.nonce));
	write(ours, state);
	/* at its end the counter begins again */
	openssl_stream(theirs, 3 * KL_CHACHA_BYTES, &next);
	next.counter = 0;
	openssl_stream(theirs + 3 * KL_CHACHA_BYTES, 5 * KL_CHACHA_BYTES, &next);
	if (memcmp(ours, theirs, sizeof(ours)))
		fail_msg("%s computes other blocks", name);
}

static void every_variant_computes_the_same(void **state)
{
	write_as("write_plain", write_plain);
#ifdef __x86_64__
	if (__builtin_cpu_supports("avx2"))
		write_as("write_avx2", write_avx2);
	if (__builtin_cpu_supports("avx512vl"))
		write_as("write_avx512", write_avx512);
#endif
}

/* --- keys ---------------------------------------------------------------------------- */

/* RFC 4231, cases 1 and 2. */
static void published_hmac(void **state)
{
	unsigned char key[20], wanted[32];
	struct kl_key out;

	memset(key, 0x0b, sizeof(key));
	kl_key_hmac(&out, key, sizeof(key), "Hi There", 8);
	from_hex(wanted, "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
	assert_memory_equal(&out, wanted, 32);
	kl_key_hmac(&out, "Jefe", 4, "what do ya want for nothing?", 28);
	from_hex(wanted, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
	assert_memory_equal(&out, wanted, 32);
}

static bool same_keys(const struct kl_key *left, const struct kl_key *right)
{
	return !memcmp(left, right, sizeof(*left));
}

static void keys_are_apart(void **state)
{
	struct kl_key seven, again, eight, live, other, inputs, poison;

	kl_key_master(&seven, 7);
	kl_key_master(&again, 7);
	kl_key_master(&eight, 8);
	kl_key_master(&live, 0);
	kl_key_master(&other, 0);
	assert_true(same_keys(&seven, &again));
	assert_false(same_keys(&seven, &eight));
	assert_false(same_keys(&live, &other));
	assert_false(same_keys(&live, &seven));
	inputs = kl_key_derive(&seven, "inputs");
	poison = kl_key_derive(&seven, "poison");
	assert_false(same_keys(&inputs, &poison));
	assert_false(same_keys(&inputs, &seven));
	again = kl_key_derive(&again, "inputs");
	assert_true(same_keys(&inputs, &again));
}

/* --- streams -------------------------------------------------------------------------- */

#define DRAWS 4096

/* Bits in which two streams agree: binomial, so half of them but for a few hundred. */
static int agreeing_bits(const struct kl_key *left, uint64_t left_stream,
			 const struct kl_key *right, uint64_t right_stream)
{
	struct kl_rng one, two;
	int n = 0;

	kl_rng_key(&one, left, left_stream);
	kl_rng_key(&two, right, right_stream);
	for (int i = 0; i < DRAWS; i++)
		n += __builtin_popcountll(~(kl_rng_u64(&one) ^ kl_rng_u64(&two)));
	return n;
}

static void streams_are_apart(void **state)
{
	struct kl_key master, inputs, poison;
	const int all = DRAWS * 64, half = all / 2, off = 1280; /* 5 standard deviations */

	kl_key_master(&master, 42);
	inputs = kl_key_derive(&master, "inputs");
	poison = kl_key_derive(&master, "poison");
	assert_int_equal(agreeing_bits(&inputs, 0, &inputs, 0), all);
	assert_in_range(agreeing_bits(&inputs, 0, &poison, 0), half - off, half + off);
	assert_in_range(agreeing_bits(&inputs, 0, &inputs, 1), half - off, half + off);
	assert_in_range(agreeing_bits(&inputs, 1, &inputs, (uint64_t)1 << 32), half - off,
			half + off);
	assert_in_range(agreeing_bits(&master, 0, &inputs, 0), half - off, half + off);
}

/* A stream goes on where the counter of a block would begin again. */
static void a_stream_does_not_repeat(void **state)
{
	struct kl_key key;
	struct kl_rng rng;
	uint64_t first, last;

	kl_key_master(&key, 3);
	kl_rng_key(&rng, &key, 0);
	first = kl_rng_u64(&rng);
	kl_rng_key(&rng, &key, 0);
	rng.chacha.counter = UINT32_MAX - KL_CHACHA_WIDE + 1;
	last = kl_rng_u64(&rng);
	for (int i = 0; i < KL_RNG_WORDS; i++)
		assert_true(last != first && (last = kl_rng_u64(&rng)) != first);
}

/* Chi-square over the 256 values of each byte of the numbers; fixed keys, so it cannot flake. */
static void bytes_are_even(void **state)
{
	for (uint64_t seed = 1; seed <= 8; seed++) {
		int count[256] = { 0 };
		double sum = 0, wanted = 8.0 * 65536 / 256;
		struct kl_key key;
		struct kl_rng rng;

		kl_key_master(&key, seed);
		kl_rng_key(&rng, &key, seed);
		for (int i = 0; i < 65536; i++)
			for (uint64_t bits = kl_rng_u64(&rng), k = 0; k < 8; k++, bits >>= 8)
				count[bits & 255]++;
		for (int i = 0; i < 256; i++)
			sum += (count[i] - wanted) * (count[i] - wanted) / wanted;
		/* 255 degrees of freedom: mean 255, standard deviation 22.6 */
		assert_true(sum > 165 && sum < 345);
	}
}

/* All 24 orders of four elements come equally often, whatever their size; fixed seeds. */
static void orders_are_even(void **state)
{
	static const size_t sizes[] = { 1, 2, 4, 8, 32 };

	for (size_t i = 0; i < KL_ARRAY_SIZE(sizes); i++) {
		size_t size = sizes[i];
		int count[256] = { 0 }, orders = 0;
		struct kl_rng rng;

		kl_rng_seed(&rng, size);
		for (int k = 0; k < 24000; k++) {
			char element[4 * 32], *at = element;
			unsigned order = 0;

			for (int e = 0; e < 4; e++)
				memset(element + (size_t)e * size, e, size);
			kl_rng_shuffle(&rng, element, 4, size);
			for (int e = 0; e < 4; e++, at += size) {
				/* each is still whole */
				assert_int_equal(*at, at[size - 1]);
				order = order << 2 | (unsigned)*at;
			}
			count[order]++;
		}
		for (int order = 0; order < 256; order++) {
			orders += count[order] > 0;
			assert_true(!count[order] || (count[order] > 850 && count[order] < 1150));
		}
		assert_int_equal(orders, 24);
	}
}

/* Correlation with the number `lag` before: normal with deviation 1/sqrt(n). */
static void no_serial_correlation(void **state)
{
	enum { MANY = 65536 };
	static double value[MANY];
	struct kl_key key;
	struct kl_rng rng;

	kl_key_master(&key, 5);
	kl_rng_key(&rng, &key, 0);
	for (int i = 0; i < MANY; i++)
		value[i] = kl_rng_uniform(&rng) - 0.5;
	for (int lag = 1; lag <= 130; lag++) {
		double sum = 0;

		for (int i = lag; i < MANY; i++)
			sum += value[i] * value[i - lag];
		assert_true(fabs(sum * 12 / MANY) < 4.5 / sqrt(MANY));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(published_blocks),
		cmocka_unit_test(a_published_text),
		cmocka_unit_test(as_openssl_computes_it),
		cmocka_unit_test(every_variant_computes_the_same),
		cmocka_unit_test(published_hmac),
		cmocka_unit_test(keys_are_apart),
		cmocka_unit_test(streams_are_apart),
		cmocka_unit_test(a_stream_does_not_repeat),
		cmocka_unit_test(bytes_are_even),
		cmocka_unit_test(orders_are_even),
		cmocka_unit_test(no_serial_correlation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
