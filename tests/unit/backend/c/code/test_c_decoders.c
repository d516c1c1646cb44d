/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "backend/c/code/isa.h"
#include "base/rng.h"
#include "image/x86.h"

/*
 * The gate reads instructions by Zydis, the worker by image/x86.h: what the gate refuses, the worker
 * refuses, and where both see an instruction it has the same length.
 */
#define RANDOM 2000000
#define MOST_SHOWN 12

struct tally {
	size_t both, ours_only, theirs_only, refused;
	size_t wrong;
};

static void show_wrong(struct tally *tally, const char *what, const unsigned char *code,
		       const char *name)
{
	if (tally->wrong++ >= MOST_SHOWN)
		return;
	print_message("%s: %s:", what, name);
	for (int i = 0; i < 15; i++)
		print_message(" %02x", code[i]);
	print_message("\n");
}

/* `code` has at least 15 bytes. */
static void compare_one(struct tally *tally, const unsigned char *code)
{
	struct kl_isa_insn theirs;
	struct kl_x86_insn ours;
	bool mine = kl_x86_decode(&ours, code, 15), zydis = kl_isa_decode(&theirs, code, 15);

	tally->ours_only += mine && !zydis;
	tally->theirs_only += zydis && !mine;
	tally->both += mine && zydis;
	if (!mine || !zydis)
		return;
	if (ours.len != theirs.len)
		show_wrong(tally, "another length", code, theirs.name);
	if (theirs.harm && !ours.refusal && !ours.segment)
		show_wrong(tally, "the worker lets pass", code, theirs.name);
	tally->refused += theirs.harm != NULL;
}

static void finish(const struct tally *tally)
{
	print_message("%zu read by both, %zu by the worker alone, %zu by the gate alone, "
		      "%zu refused\n",
		      tally->both, tally->ours_only, tally->theirs_only, tally->refused);
	assert_int_equal(tally->wrong, 0);
}

/* Random bytes, most of them behind the escape to a larger map or behind prefixes. */
static void random_bytes_read_alike(void **state)
{
	static const unsigned char lead[] = { 0x0f, 0x66, 0xf2, 0xf3, 0xf0, 0x48, 0x41, 0xc4,
					      0xc5, 0x62, 0x0f, 0x0f, 0x0f, 0x2e, 0x64, 0x67 };
	struct tally tally = { 0 };
	struct kl_rng rng;

	kl_rng_seed(&rng, 71);
	for (size_t i = 0; i < RANDOM; i++) {
		unsigned char code[16];

		for (size_t k = 0; k < sizeof(code); k += 8) {
			uint64_t word = kl_rng_u64(&rng);

			memcpy(code + k, &word, 8);
		}
		for (size_t k = 0; k < i % 4; k++)
			code[k] = lead[code[k] % sizeof(lead)];
		compare_one(&tally, code);
	}
	finish(&tally);
	assert_true(tally.both > RANDOM / 4 && tally.refused > 1000);
}

/* Every two-byte opcode with every ModRM byte, behind each prefix. */
static void every_opcode_reads_alike(void **state)
{
	static const unsigned char prefix[] = { 0x90, 0x66, 0xf2, 0xf3 };
	struct tally tally = { 0 };

	for (size_t k = 0; k < sizeof(prefix); k++)
		for (unsigned i = 0; i < 1 << 17; i++) {
			unsigned char code[16] = { prefix[k], 0x0f, (unsigned char)(i >> 8),
						   (unsigned char)i };
			bool escaped = i >> 16;

			if (!escaped)
				memmove(code + 1, code + 2, sizeof(code) - 2);
			compare_one(&tally, prefix[k] == 0x90 ? code + 1 : code);
		}
	finish(&tally);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_bytes_read_alike),
		cmocka_unit_test(every_opcode_reads_alike),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
