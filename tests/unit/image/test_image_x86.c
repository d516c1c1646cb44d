/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include <dlfcn.h>
#include <math.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/proc.h"
#include "base/rng.h"
#include "image/x86.h"

/* clang-format off */
static const struct { char bytes[16]; size_t len; const char *refusal; bool segment; } table[] = {
	{ "\xc3", 1, NULL, false },                                    /* ret */
	{ "\xf3\xc3", 2, NULL, false },                                /* rep ret */
	{ "\x66\x2e\x0f\x1f\x84\x00\x00\x00\x00\x00", 10, NULL, false }, /* cs nopw */
	{ "\x48\xb8\x0f\x05\x00\x00\x00\x00\x00\x00", 10, NULL, false }, /* movabs with 0f 05 inside */
	{ "\x66\xb8\x0f\x05", 4, NULL, false },                        /* mov $imm16 */
	{ "\xf7\xd0", 2, NULL, false },                                /* not: no immediate */
	{ "\xf7\xc0\x01\x00\x00\x00", 6, NULL, false },                /* test: with one */
	{ "\xf6\x05\x01\x02\x03\x04\x05", 7, NULL, false },            /* testb $5, x(%rip) */
	{ "\x8b\x84\x24\x01\x02\x03\x04", 7, NULL, false },            /* with SIB and displacement */
	{ "\x8b\x04\x25\x01\x02\x03\x04", 7, NULL, false },            /* SIB without base */
	{ "\xc5\xf8\x77", 3, NULL, false },                            /* vzeroupper */
	{ "\xc4\xe3\x7d\x19\xc0\x01", 6, NULL, false },                /* vextractf128 */
	{ "\x62\xf1\x7c\x48\x28\x40\x01", 7, NULL, false },            /* vmovaps 64(%rax), %zmm0 */
	{ "\x67\xe8\x00\x00\x00\x00", 6, NULL, false },                /* addr32 call */
	{ "\x67\xa1\x01\x02\x03\x04", 6, NULL, false },                /* moffs with a short address */
	{ "\xc8\x00\x01\x02", 4, NULL, false },                        /* enter */
	{ "\x0f\x01\xfc", 3, NULL, false },                            /* clzero */
	{ "\xf3\x0f\xb8\xc0", 4, NULL, false },                        /* popcnt */
	{ "\x0f\xae\xf0", 3, NULL, false },                            /* mfence */
	{ "\x0f\xae\x10", 3, NULL, false },                            /* ldmxcsr */
	{ "\x0f\x05", 2, "calls the system", false },
	{ "\x48\x0f\x05", 3, "calls the system", false },
	{ "\xcd\x80", 2, "calls the system", false },
	{ "\x0f\x34", 2, "calls the system", false },
	{ "\xf1", 1, "calls the system", false },
	{ "\x0f\x31", 2, "reads a clock or counter", false },
	{ "\x0f\x01\xf9", 3, "reads a clock or counter", false },
	{ "\x0f\x33", 2, "reads a clock or counter", false },
	{ "\x66\x0f\xae\xf1", 4, "reads a clock or counter", false },  /* tpause */
	{ "\x0f\xa2", 2, "asks which processor it runs on", false },
	{ "\x0f\x01\xd0", 3, "asks which processor it runs on", false },
	{ "\xf3\x0f\xc7\xf8", 4, "asks which processor it runs on", false }, /* rdpid */
	{ "\x0f\x03\xc0", 3, "asks which processor it runs on", false },     /* lsl: the vDSO's getcpu */
	{ "\x0f\x01\x00", 3, "asks which processor it runs on", false },     /* sgdt */
	{ "\x0f\xae\x20", 3, "asks which processor it runs on", false },     /* xsave */
	{ "\x48\x0f\xae\x28", 4, "changes protection or segments", false }, /* xrstor64 */
	{ "\x0f\xae\xe8", 3, NULL, false },                         /* lfence */
	{ "\x66\x0f\xae\x30", 4, NULL, false },                     /* clwb */
	{ "\x48\x0f\xc7\xf0", 4, "draws random numbers", false },
	{ "\x0f\xc7\xf8", 3, "draws random numbers", false },
	{ "\xf3\x48\x0f\xae\xc0", 5, "changes protection or segments", false }, /* rdfsbase */
	{ "\x0f\x01\xef", 3, "changes protection or segments", false },  /* wrpkru */
	{ "\xe6\x80", 2, "does port I/O", false },
	{ "\xf3\x6c", 2, "does port I/O", false },
	{ "\xc7\xf8\x00\x00\x00\x00", 6, "starts a transaction", false },
	{ "\x0f\x01\xd5", 3, "starts a transaction", false },
	{ "\xcb", 1, "jumps out of its segment", false },
	{ "\xff\x2d\x00\x00\x00\x00", 6, "jumps out of its segment", false }, /* ljmp */
	{ "\xf4", 1, "uses a privileged instruction", false },
	{ "\x0f\x01\xc1", 3, "uses a privileged instruction", false },   /* vmcall */
	{ "\x0f\x01\xfa", 3, "uses a privileged instruction", false },   /* monitorx */
	{ "\x64\x48\x8b\x04\x25\x00\x00\x00\x00", 9, NULL, true },       /* mov %fs:0, %rax */
	{ "\x65\x48\x89\x03", 4, NULL, true },
	{ "\x8e\xe0", 2, NULL, true },                                   /* mov %eax, %fs */
	{ "\x0f\xa0", 2, NULL, true },                                   /* push %fs */
	/* no instructions, or none on which processors agree */
	{ "\x06", 0, NULL, false }, { "\x0e", 0, NULL, false }, { "\x62\x00\x00\x00\x00\x00", 0, NULL, false },
	{ "\xd5\x00", 0, NULL, false }, { "\x66\xe9\x00\x00\x00\x00", 0, NULL, false },
	{ "\x66\xeb\x00", 0, NULL, false }, { "\x66\xc3", 0, NULL, false }, { "\x0f\x0a", 0, NULL, false },
	{ "\x66\xc5\xf8\x77", 0, NULL, false }, { "\xf0\xc4\xe3\x7d\x19\xc0\x01", 0, NULL, false },
	{ "\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66\x66", 0, NULL, false },
};
/* clang-format on */

static void test_table(void **state)
{
	for (size_t i = 0; i < KL_ARRAY_SIZE(table); i++) {
		struct kl_x86_insn insn;
		bool ok = kl_x86_decode(&insn, (const unsigned char *)table[i].bytes,
					sizeof(table[i].bytes));

		if (ok != (table[i].len != 0) || (ok && insn.len != table[i].len))
			fail_msg("%zu: length %zu, wanted %zu", i, ok ? insn.len : 0, table[i].len);
		if (!ok)
			continue;
		if (!insn.refusal != !table[i].refusal ||
		    (insn.refusal && strcmp(insn.refusal, table[i].refusal)))
			fail_msg("%zu: '%s'", i, insn.refusal ? insn.refusal : "allowed");
		assert_int_equal(insn.segment, table[i].segment);
	}
}

static void test_branches(void **state)
{
	static const struct {
		char bytes[15];
		bool branch;
		int64_t target;
	} all[] = {
		{ "\xeb\xfe", true, 0 },
		{ "\xe9\x10\x00\x00\x00", true, 21 },
		{ "\x0f\x84\xfa\xff\xff\xff", true, 0 },
		{ "\xe8\x00\x00\x00\x80", true, 5 - ((int64_t)1 << 31) },
		{ "\xe3\x00", true, 2 },
		{ "\xff\xe0", false, 0 },
		{ "\xff\x15\x00\x00\x00\x00", false, 0 },
		{ "\xc3", false, 0 },
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(all); i++) {
		struct kl_x86_insn insn;

		assert_true(kl_x86_decode(&insn, (const unsigned char *)all[i].bytes, 15));
		assert_int_equal(insn.branch, all[i].branch);
		assert_true(insn.target == all[i].target);
	}
}

/* The bytes of a line of objdump: "  1a:\t48 89 c3             \tmov ..."; 0: another line. */
static size_t line_bytes(unsigned char bytes[32], const char *line)
{
	const char *at = strchr(line, ':');
	size_t n = 0;
	char *end;

	if (!at || at[1] != '\t')
		return 0;
	for (at += 2; n < 32; at = end + 1) {
		unsigned long byte = strtoul(at, &end, 16);

		if (end != at + 2 || *end != ' ')
			break;
		bytes[n++] = (unsigned char)byte;
	}
	return n;
}

/* objdump shows fwait and the next instruction as one. */
static bool agrees(const unsigned char *bytes, size_t n)
{
	struct kl_x86_insn insn;
	size_t at = 0;

	while (at < n) {
		if (!kl_x86_decode(&insn, bytes + at, n - at))
			return false;
		at += insn.len;
	}
	return at == n;
}

/* A second disassembler reads all code of a library and of this program in the same way. */
static size_t compare_file(const char *path)
{
	const char *argv[] = { "objdump", "-dw", path, NULL };
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	unsigned char bytes[32];
	size_t compared = 0;

	assert_ok(kl_proc_output(&text, argv));
	for (char *line = text.ptr, *next; line; line = next) {
		size_t n;

		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		n = line_bytes(bytes, line);
		if (!n)
			continue;
		if (agrees(bytes, n) == (strstr(line, "(bad)") != NULL))
			fail_msg("%s: %s", path, line);
		compared++;
	}
	return compared;
}

static void test_objdump(void **state)
{
	Dl_info info;

	assert_true(dladdr((void *)(uintptr_t)test_table, &info));
	assert_true(compare_file(info.dli_fname) > 1000);
	assert_true(dladdr((void *)(uintptr_t)cos, &info));
	assert_true(compare_file(info.dli_fname) > 50000);
}

/* Whatever the bytes are, no byte behind them is read (ASan), and the length is in bounds. */
static void test_random(void **state)
{
	struct kl_rng rng;

	kl_rng_seed(&rng, 1);
	for (int i = 0; i < 200000; i++) {
		size_t n = kl_rng_below(&rng, 18);
		unsigned char *bytes = kl_malloc(n ? n : 1);
		struct kl_x86_insn insn;

		for (size_t k = 0; k < n; k++)
			bytes[k] = (unsigned char)kl_rng_u64(&rng);
		if (kl_x86_decode(&insn, bytes, n))
			assert_in_range(insn.len, 1, n < 15 ? n : 15);
		free(bytes);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_branches),
		cmocka_unit_test(test_objdump),
		cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
