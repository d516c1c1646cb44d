/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "base/mem.h"

#include "backend/c/isa.h"

/* One instruction or more of each set that a level has, and of those that none has. */
/* clang-format off */
static const struct { const char *text; int level; const char *set, *bytes; } sets[] = {
	{ "add %eax,%ebx", 1, "x86", "\x01\xc3" },
	{ "rep bsf %eax,%eax", 1, "x86", "\xf3\x0f\xbc\xc0" },
	{ "endbr64", 1, "x86", "\xf3\x0f\x1e\xfa" },
	{ "prefetchw (%rax)", 1, "x86", "\x0f\x0d\x08" },
	{ "nopw 0x0(%rax,%rax,1)", 1, "x86", "\x66\x0f\x1f\x04\x00" },
	{ "pause", 1, "x86", "\xf3\x90" },
	{ "cmovne %eax,%ebx", 1, "CMOV", "\x0f\x45\xd8" },
	{ "fcomip %st(1),%st", 1, "x86", "\xdf\xf1" },
	{ "paddb %mm0,%mm1", 1, "MMX", "\x0f\xfc\xc8" },
	{ "mulps %xmm0,%xmm1", 1, "SSE", "\x0f\x59\xc8" },
	{ "prefetcht0 (%rax)", 1, "SSE", "\x0f\x18\x08" },
	{ "addpd %xmm0,%xmm1", 1, "SSE2", "\x66\x0f\x58\xc8" },
	{ "movnti %rax,(%rdx)", 1, "SSE2", "\x48\x0f\xc3\x02" },
	{ "clflush (%rax)", 1, "CLFLUSH", "\x0f\xae\x38" },
	{ "cmpxchg16b (%rdi)", 2, "CMPXCHG16B", "\x48\x0f\xc7\x0f" },
	{ "lahf", 2, "LAHF", "\x9f" },
	{ "popcnt %eax,%eax", 2, "POPCNT", "\xf3\x0f\xb8\xc0" },
	{ "haddps %xmm0,%xmm1", 2, "SSE3", "\xf2\x0f\x7c\xc8" },
	{ "pshufb %xmm0,%xmm1", 2, "SSSE3", "\x66\x0f\x38\x00\xc8" },
	{ "pmulld %xmm0,%xmm1", 2, "SSE4.1", "\x66\x0f\x38\x40\xc8" },
	{ "crc32b %al,%ebx", 2, "SSE4.2", "\xf2\x0f\x38\xf0\xd8" },
	{ "vaddps %xmm0,%xmm1,%xmm2", 3, "AVX", "\xc5\xf0\x58\xd0" },
	{ "vaddps %ymm0,%ymm1,%ymm2", 3, "AVX", "\xc5\xf4\x58\xd0" },
	{ "vpaddd %ymm0,%ymm1,%ymm2", 3, "AVX2", "\xc5\xf5\xfe\xd0" },
	{ "vgatherdps %xmm0,(%rax,%xmm1,4),%xmm2", 3, "AVX2", "\xc4\xe2\x79\x92\x14\x88" },
	{ "andn %eax,%ebx,%ecx", 3, "BMI1", "\xc4\xe2\x60\xf2\xc8" },
	{ "mulx %rax,%rbx,%rcx", 3, "BMI2", "\xc4\xe2\xe3\xf6\xc8" },
	{ "vcvtph2ps %xmm0,%xmm1", 3, "F16C", "\xc4\xe2\x79\x13\xc8" },
	{ "vfmadd231ps %xmm0,%xmm1,%xmm2", 3, "FMA", "\xc4\xe2\x71\xb8\xd0" },
	{ "lzcnt %eax,%eax", 3, "LZCNT", "\xf3\x0f\xbd\xc0" },
	{ "movbe (%rax),%ebx", 3, "MOVBE", "\x0f\x38\xf0\x18" },
	{ "vaddps %zmm0,%zmm1,%zmm2", 4, "AVX512F", "\x62\xf1\x74\x48\x58\xd0" },
	{ "kmovw %eax,%k1", 4, "AVX512F", "\xc5\xf8\x92\xc8" },
	{ "vaddss %xmm20,%xmm1,%xmm2", 4, "AVX512F", "\x62\xb1\x76\x08\x58\xd4" },
	{ "vaddps %ymm20,%ymm1,%ymm2", 4, "AVX512VL", "\x62\xb1\x74\x28\x58\xd4" },
	{ "vpaddb %zmm0,%zmm1,%zmm2", 4, "AVX512BW", "\x62\xf1\x75\x48\xfc\xd0" },
	{ "vplzcntd %zmm0,%zmm1", 4, "AVX512CD", "\x62\xf2\x7d\x48\x44\xc8" },
	{ "vpmullq %zmm0,%zmm1,%zmm2", 4, "AVX512DQ", "\x62\xf2\xf5\x48\x40\xd0" },
	{ "sha256rnds2 %xmm0,%xmm1", 5, "SHA", "\x0f\x38\xcb\xc8" },
	{ "aesenc %xmm0,%xmm1", 5, "AES", "\x66\x0f\x38\xdc\xc8" },
	{ "vaesenc %xmm0,%xmm1,%xmm2", 5, "AVXAES", "\xc4\xe2\x71\xdc\xd0" },
	{ "vaesenc %ymm0,%ymm1,%ymm2", 5, "VAES", "\xc4\xe2\x75\xdc\xd0" },
	{ "pclmulqdq $0,%xmm0,%xmm1", 5, "PCLMULQDQ", "\x66\x0f\x3a\x44\xc8\x00" },
	{ "vpclmulqdq $0,%xmm0,%xmm1,%xmm2", 5, "PCLMULQDQ", "\xc4\xe3\x71\x44\xd0\x00" },
	{ "vpclmulqdq $0,%ymm0,%ymm1,%ymm2", 5, "VPCLMULQDQ", "\xc4\xe3\x75\x44\xd0\x00" },
	{ "gf2p8mulb %xmm0,%xmm1", 5, "GFNI", "\x66\x0f\x38\xcf\xc8" },
	{ "vgf2p8mulb %ymm0,%ymm1,%ymm2", 5, "AVX_GFNI", "\xc4\xe2\x75\xcf\xd0" },
	{ "adcx %eax,%ebx", 5, "ADOX_ADCX", "\x66\x0f\x38\xf6\xd8" },
	{ "{vex} vpdpbusd %ymm0,%ymm1,%ymm2", 5, "AVX_VNNI", "\xc4\xe2\x75\x50\xd0" },
	{ "vpdpbusd %zmm0,%zmm1,%zmm2", 5, "AVX512_VNNI_512", "\x62\xf2\x75\x48\x50\xd0" },
	{ "vpermb %zmm0,%zmm1,%zmm2", 5, "AVX512_VBMI_512", "\x62\xf2\x75\x48\x8d\xd0" },
	{ "vpmadd52luq %zmm0,%zmm1,%zmm2", 5, "AVX512_IFMA_512", "\x62\xf2\xf5\x48\xb4\xd0" },
	{ "vdpbf16ps %zmm0,%zmm1,%zmm2", 5, "AVX512_BF16_512", "\x62\xf2\x76\x48\x52\xd0" },
	{ "vaddph %zmm0,%zmm1,%zmm2", 5, "AVX512_FP16_512", "\x62\xf5\x74\x48\x58\xd0" },
	{ "vpopcntd %zmm0,%zmm1", 5, "AVX512_VPOPCNTDQ_512", "\x62\xf2\x7d\x48\x55\xc8" },
	{ "tilezero %tmm0", 5, "AMX_TILE", "\xc4\xe2\x7b\x49\xc0" },
	{ "clflushopt (%rax)", 5, "CLFLUSHOPT", "\x66\x0f\xae\x38" },
	{ "clwb (%rax)", 5, "CLWB", "\x66\x0f\xae\x30" },
	{ "prefetchwt1 (%rax)", 5, "PREFETCHWT1", "\x0f\x0d\x10" },
	{ "vfmaddps %xmm0,%xmm1,%xmm2,%xmm3", 5, "FMA4", "\xc4\xe3\xe9\x68\xd8\x10" },
	{ "movntss %xmm0,(%rax)", 5, "SSE4A", "\xf3\x0f\x2b\x00" },
	{ "serialize", 5, "SERIALIZE", "\x0f\x01\xe8" },
};

static const struct { const char *bytes, *name, *harm; } harmful[] = {
	{ "\x0f\x05", "syscall", "calls the system" }, { "\xcd\x80", "int", "calls the system" },
	{ "\x0f\x34", "sysenter", "calls the system" }, { "\x0f\x31", "rdtsc", "reads a clock" },
	{ "\x0f\x01\xf9", "rdtscp", "reads a clock" }, { "\x0f\x33", "rdpmc", "reads a clock" },
	{ "\x0f\x01\xfd", "rdpru", "reads a clock" }, { "\x66\x0f\xae\xf0", "tpause", "reads a clock" },
	{ "\x0f\xa2", "cpuid", "which processor" }, { "\x0f\x01\xd0", "xgetbv", "which processor" },
	{ "\xf3\x0f\xc7\xf8", "rdpid", "which processor" }, { "\x0f\x03\xc0", "lsl", "which processor" },
	{ "\x0f\xae\x20", "xsave", "which processor" }, { "\x0f\xc7\xf0", "rdrand", "random" },
	{ "\x48\x0f\xc7\xf8", "rdseed", "random" }, { "\xe4\x10", "in", "port" }, { "\x6e", "outsb", "port" },
	{ "\x0f\x01\xef", "wrpkru", "protection" }, { "\xf3\x48\x0f\xae\xc0", "rdfsbase", "protection" },
	{ "\x0f\xae\x28", "xrstor", "protection" }, { "\xc7\xf8\x00\x00\x00\x00", "xbegin", "transaction" },
	{ "\xcb", "ret", "segment" }, { "\xcf", "iretd", "segment" }, { "\xff\x28", "jmp", "segment" },
	{ "\xf4", "hlt", "privileged" }, { "\x0f\x01\xfa", "monitorx", "privileged" },
	{ "\x0f\x30", "wrmsr", "privileged" }, { "\x0f\x22\xd8", "mov", "privileged" },
	{ "\x0f\x01\xc1", "vmcall", "privileged" }, { "\x0f\x09", "wbinvd", "privileged" },
};
/* clang-format on */

/* A string of bytes with zeros in it, padded. */
static void pad(unsigned char out[32], const char *bytes)
{
	memset(out, 0, 32);
	memcpy(out, bytes, strnlen(bytes, 16));
}

static void test_sets(void **state)
{
	for (size_t i = 0; i < KL_ARRAY_SIZE(sets); i++) {
		unsigned char bytes[32];
		struct kl_isa_insn insn;

		pad(bytes, sets[i].bytes);
		if (!kl_isa_decode(&insn, bytes, sizeof(bytes)))
			fail_msg("%s is not decoded", sets[i].text);
		if (insn.level != sets[i].level || strcmp(insn.set, sets[i].set) || insn.harm)
			fail_msg("%s: level %d, set %s, %s", sets[i].text, insn.level, insn.set,
				 insn.harm);
	}
}

static void test_harm(void **state)
{
	for (size_t i = 0; i < KL_ARRAY_SIZE(harmful); i++) {
		unsigned char bytes[32];
		struct kl_isa_insn insn;

		pad(bytes, harmful[i].bytes);
		assert_true(kl_isa_decode(&insn, bytes, sizeof(bytes)));
		assert_string_equal(insn.name, harmful[i].name);
		if (!insn.harm)
			fail_msg("%s is allowed", harmful[i].name);
		assert_contains(insn.harm, harmful[i].harm);
	}
}

static void test_no_instruction(void **state)
{
	struct kl_isa_insn insn;

	assert_false(kl_isa_decode(&insn, (const unsigned char *)"", 0));
	assert_false(kl_isa_decode(&insn, (const unsigned char *)"\x0f", 1)); /* cut off */
	assert_false(kl_isa_decode(&insn, (const unsigned char *)"\x06\x0e", 2));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sets),
		cmocka_unit_test(test_harm),
		cmocka_unit_test(test_no_instruction),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
