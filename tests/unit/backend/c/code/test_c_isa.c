/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel.h"

#include "backend/c/code/hidden.h"
#include "backend/c/code/isa.h"

static struct kernel kernel;

static int setup(void **state)
{
	kernel_setup(&kernel);
	return 0;
}

static int teardown(void **state)
{
	kernel_teardown(&kernel);
	return 0;
}

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

static void test_level_names(void **state)
{
	assert_int_equal(kl_isa_level("x86-64"), 1);
	assert_int_equal(kl_isa_level("x86-64-v2"), 2);
	assert_int_equal(kl_isa_level("x86-64-v4"), 4);
	assert_int_equal(kl_isa_level("x86-64-v5"), 0);
	assert_int_equal(kl_isa_level("x86-64-v2x"), 0);
	assert_int_equal(kl_isa_level("native"), 0);
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

/* The bytes of text, which hide one instruction or none. */
/* clang-format off */
static const struct { const char *text; size_t n; const char *name; size_t at; } hiding[] = {
	{ "\xb8\x0f\xa2\xc3\x90", 5, "cpuid", 1 },
	{ "\xb8\x0f\x01\xd0\xc3", 5, "xgetbv", 1 }, { "\xb8\x0f\x01\xef\xc3", 5, "wrpkru", 1 },
	{ "\xb8\x0f\x01\xfa\xc3", 5, "monitorx", 1 }, { "\xb8\x0f\x01\xfd\xc3", 5, "rdpru", 1 },
	{ "\xb8\x0f\xc7\xf1\xc3", 5, "rdrand", 1 }, { "\xb8\x0f\xc7\xfa\xc3", 5, "rdseed", 1 },
	{ "\xb8\xf3\x0f\xc7\xf8", 5, "rdpid", 2 }, { "\xb8\xf3\x0f\xae\xc0", 5, "rdfsbase", 2 },
	{ "\x48\xb8\xf3\x48\x0f\xae\xd8\xc3", 8, "wrgsbase", 4 }, { "\xb8\xf2\x0f\xae\xf0", 5, "umwait", 2 },
	{ "\xb8\x0f\xae\x28\xc3", 5, "xrstor", 1 }, { "\xb8\x90\x90\x0f\xa2", 5, "cpuid", 3 },
	{ "\x48\xb8\xc7\xf8\x00\x00\x00\x00\xc3\x90", 10, "xbegin", 2 },
	/* in two instructions: add $0x0f000000, %eax; mov %al, ... */
	{ "\x05\x00\x00\x00\x0f\xa2\x00\x00\x00\x00\x00\x00\x00\x00", 14, "cpuid", 4 },
	/* what the seal or the processor stops, or what is no such instruction */
	{ "\xb8\x0f\x31\xc3\x90", 5, NULL, 0 }, { "\xb8\x0f\x05\xc3\x90", 5, NULL, 0 },
	{ "\xb8\x0f\x0f\x0f\x0f", 5, NULL, 0 }, { "\x0f\xae\xf0\x0f\xae\xe8", 6, NULL, 0 },
	{ "\x0f\xc7\x08\x90\x90", 5, NULL, 0 }, { "\xc7\xf8\x00\x00\x00\x10\x90", 7, NULL, 0 },
	{ "\xb8\x90\x90\x90\x0f", 5, NULL, 0 }, { "\x90\x90\x90\x0f\x01", 5, NULL, 0 },
};
/* clang-format on */

static void test_hiding(void **state)
{
	for (size_t i = 0; i < KL_ARRAY_SIZE(hiding); i++) {
		size_t at = 0;
		const char *name = kl_hidden_find(&at, (const unsigned char *)hiding[i].text,
						  hiding[i].n);

		if (!hiding[i].name) {
			assert_null(name);
			continue;
		}
		if (!name)
			fail_msg("%s is not found", hiding[i].name);
		assert_string_equal(name, hiding[i].name);
		assert_int_equal(at, hiding[i].at);
	}
}

/* Everything that is sought at every byte is also refused where it stands openly. */
static void test_hidden_is_harmful(void **state)
{
	for (size_t i = 0; i < KL_ARRAY_SIZE(hiding) && hiding[i].name; i++) {
		size_t at = hiding[i].at;
		unsigned char bytes[32] = { 0 };
		struct kl_isa_insn insn;

		memcpy(bytes, hiding[i].text, hiding[i].n);
		while (at && memchr("\x66\xf2\xf3\x48", bytes[at - 1], 4))
			at--;
		assert_true(kl_isa_decode(&insn, bytes + at, sizeof(bytes) - at));
		assert_non_null(insn.harm);
	}
}

#define CPUID "0x90c3a20f"
#define MIX "__attribute__((noinline)) static int mix(int x) { return x ^ " CPUID "; }\n"

/* Kernels with the bytes of cpuid in a constant: refused if a branch could go there. */
/* clang-format off */
static const struct { const char *what, *source, *flags, *message; } steered[] = {
	{ "a constant in a leaf", "int k(int x) { return x ^ " CPUID "; }\n", "-O2", NULL },
	{ "a constant and a call", MIX "int k(int x) { return mix(x) + mix(x + 1); }\n", "-O2", NULL },
	{ "with frames", MIX "int k(int x) { return mix(x) + 1; }\n", "-O0", NULL },
	{ "in a loop", "int k(int n, const int *x, int *y) { int s = 0; for (int i = 0; i < n; i++) { s = (s ^ " CPUID ") + x[i];\n"
	  "y[i] = s; } return s; }\n", "-O3", NULL },
	{ "and library calls", "#include <math.h>\n#include <string.h>\nfloat k(float *x, int n) { memset(x, n ^ " CPUID ", n);\n"
	  "return expf(x[n ^ " CPUID "]); }\n", "-O2", NULL },
	{ "recursion", "int k(int n) { return n < 2 ? n ^ " CPUID " : k(n - 1) * k(n - 2); }\n", "-O1", NULL },
	{ "a pointer that is constant", MIX "static int (*const f)(int) = mix;\nint k(int x) { return f(x) * 3; }\n", "-O1", NULL },
	{ "a call through a pointer", "int k(int (*f)(int), int x) { return f(x) ^ " CPUID "; }\n", "-O2",
	  "'cpuid' in the bytes of 'k' (at 0x" },
	{ "a computed address", "int k(int x) { char *p = (char *)k; return ((int (*)(int))(p + (x & 31)))(x) ^ " CPUID "; }\n",
	  "-O2", "calls through a pointer" },
	{ "a table of functions", MIX "static int add(int x) { return x + 1; }\nstatic int (*const f[])(int) = { mix, add };\n"
	  "int k(int i, int x) { return f[i](x); }\n", "-O2", "'mix'" },
	{ "a computed goto", "int k(const char *p) { static void *const op[] = { &&add, &&sub, &&end }; int a = 0;\n"
	  "goto *op[(int)*p++]; add: a ^= " CPUID "; goto *op[(int)*p++]; sub: a--; goto *op[(int)*p++]; end: return a; }\n",
	  "-O2", "jumps through a pointer" },
	{ "an address that is pushed", "int k(int x) { __asm__ volatile(\"push %0\\n\\tret\" : : \"r\"((long)x)); return x ^ " CPUID "; }\n",
	  "-O2", "could return to another address" },
	{ "the return address on the stack", "int k(int x) { ((volatile long *)__builtin_frame_address(0))[1] += x; return x ^ " CPUID "; }\n",
	  "-O2", "could return to another address" },
	{ "a call into its own middle", "int k(int x) { __asm__ volatile(\"call 1f\\n\\tjmp 2f\\n1:\\tpush %0\\n\\tret\\n2:\" : : \"r\"((long)x));\n"
	  "return x ^ " CPUID "; }\n", "-O2", "could return to another address" },
	{ "an array on the stack", "int k(int i, int x) { volatile int a[8]; a[i] = x; return a[0] ^ " CPUID "; }\n", "-O2",
	  "could return to another address" },
	{ "another stack", "int k(int x) { __asm__ volatile(\"xchg %%rax, %%rsp\\n\\txchg %%rax, %%rsp\" ::: \"rax\"); return x ^ " CPUID "; }\n",
	  "-O2", "could return to another address" },
	{ "a foreign frame", "__asm__(\".text\\n.type h,@function\\nh: mov %rdi, %rbp\\nret\\n\");\nvoid h(long);\n"
	  "int k(int x) { h(x); return x ^ " CPUID "; }\n", "-O0", "'h' could return" },
	{ "more popped than pushed", "int k(int x) { __asm__ volatile(\"add $16, %rsp\\n\\tsub $16, %rsp\"); return x ^ " CPUID "; }\n",
	  "-O2", "could return to another address" },
	{ "across two instructions", "int k(int (*f)(int), int x) { __asm__ volatile(\"add $0x0f000000, %%eax\\n\\t"
	  "movabs %%al, 0x1111111111111111\" ::: \"eax\"); return f(x); }\n", "-O2", "hides 'cpuid'" },
	/* the call is e8 0f a2 00 00, unless the functions are moved apart */
	{ "a distance of its own functions", "__asm__(\".section .text.near,\\\"ax\\\"\\n.p2align 4\\n.type near,@function\\nnear: call far\\nret\\n\"\n"
	  "\".section .text.far,\\\"ax\\\"\\n.p2align 4\\n.type pad,@function\\npad: .skip 0xa20f - 12, 0x90\\nret\\n\"\n"
	  "\".type far,@function\\nfar: ret\\n.text\\n\");\nvoid near(void);\nint k(int (*f)(int), int x) { near(); return f(x); }\n", "-O2", NULL },
	{ "a clock, which the seal stops", "int k(int (*f)(int), int x) { return f(x) ^ 0x90c3310f; }\n", "-O2", NULL },
};
/* clang-format on */

static void test_steered(void **state)
{
	for (size_t i = 0; i < KL_ARRAY_SIZE(steered); i++) {
		KL_AUTO(kl_artefact_freep) struct kl_artefact *artefact = NULL;
		int err = kernel_compile(&artefact, &kernel, steered[i].source, NULL,
					 steered[i].flags);

		if (!steered[i].message) {
			if (err)
				fail_msg("%s: %s", steered[i].what, kl_error_last());
			continue;
		}
		print_message("%s: %s\n", steered[i].what, err ? kl_error_last() : "ACCEPTED");
		assert_int_equal(err, KL_ENO);
		assert_string_equal(kernel.class_, "cheat");
		assert_contains(kl_error_last(), steered[i].message);
	}
}

#define FOR(set) "__attribute__((target(\"" set "\"))) "
#define IMM "#include <immintrin.h>\n"

/* `level`: the lowest on which the kernel is accepted; 5: none. */
/* clang-format off */
static const struct { const char *what, *source, *flags; int level; const char *message; } levels[] = {
	{ "scalar", "int k(int x) { return x * 3; }\n", NULL, 1, NULL },
	{ "bits", "int k(unsigned x) { return __builtin_ctz(x); }\n", NULL, 1, NULL },
	{ "a prefetch to write", "void k(char *p) { __builtin_prefetch(p, 1); }\n", NULL, 1, NULL },
	{ "a flag", "int k(int x) { return __builtin_popcount(x); }\n", "-mpopcnt", 2, "'k' uses POPCNT ('popcnt')" },
	{ "a target", IMM FOR("avx2,fma") "void k(float *x) { _mm256_storeu_ps(x, _mm256_fmadd_ps(_mm256_loadu_ps(x),\n"
	  "_mm256_loadu_ps(x), _mm256_loadu_ps(x))); }\n", NULL, 3, "'k' uses AVX" },
	{ "a helper", IMM FOR("avx2") "__attribute__((noinline)) static void h(int *x) { _mm256_storeu_si256((void *)x,\n"
	  "_mm256_abs_epi32(_mm256_loadu_si256((void *)x))); }\nvoid k(int *x) { h(x); }\n", NULL, 3, "'h' uses AVX" },
	{ "a pragma", "#pragma GCC target(\"avx512f\")\n" IMM "void k(float *x) { _mm512_storeu_ps(x, _mm512_sqrt_ps(_mm512_loadu_ps(x))); }\n",
	  NULL, 4, "uses AVX512F" },
	{ "assembly", "void k(void) { __asm__ volatile(\"vpaddd %%ymm0, %%ymm0, %%ymm0\" ::: \"xmm0\"); }\n", NULL, 3, "uses AVX2 ('vpaddd')" },
	{ "SHA", IMM FOR("sha") "__m128i k(__m128i a, __m128i b) { return _mm_sha256msg1_epu32(a, b); }\n", NULL, 5, "uses SHA ('sha256msg1')" },
	{ "VAES", IMM FOR("vaes,avx2") "__m256i k(__m256i a, __m256i b) { return _mm256_aesenc_epi128(a, b); }\n", NULL, 5, "uses VAES" },
	{ "AES", IMM FOR("aes") "__m128i k(__m128i a, __m128i b) { return _mm_aesenc_si128(a, b); }\n", NULL, 5, "AES" },
	{ "GFNI", IMM FOR("gfni") "__m128i k(__m128i a, __m128i b) { return _mm_gf2p8mul_epi8(a, b); }\n", NULL, 5, "GFNI" },
	{ "carry-less multiplication", IMM FOR("pclmul") "__m128i k(__m128i a, __m128i b) { return _mm_clmulepi64_si128(a, b, 0); }\n",
	  NULL, 5, "PCLMULQDQ" },
	{ "behind a pointer", FOR("avx2") "static void h(int *x) { for (int i = 0; i < 64; i++) x[i] *= 3; }\n"
	  "static void g(int *x) { x[0] = 1; }\nstatic void (*const f[])(int *) = { g, h };\nvoid k(int *x, int i) { f[i & 1](x); }\n",
	  "-O3", 3, "'h' uses AVX" },
	{ "stored and never called", FOR("avx2") "static void h(int *x) { for (int i = 0; i < 64; i++) x[i] *= 3; }\n"
	  "void (*volatile f)(int *);\nvoid k(int *x) { f = h; x[0] = 1; }\n", "-O3", 1, NULL },
	{ "stored and within reach", FOR("avx2") "static void h(int *x) { for (int i = 0; i < 64; i++) x[i] *= 3; }\n"
	  "void (*volatile f)(int *);\nvoid k(int *x, int i) { volatile int a[9]; f = h; a[i] = x[0]; x[0] = a[1]; }\n", "-O3", 3, "'h' uses AVX" },
	{ "behind a call that never returns", FOR("avx2") "__attribute__((noinline)) static void h(int *x) { for (int i = 0; i < 64; i++) x[i] *= 3; }\n"
	  "__attribute__((noinline, noipa)) static void stop(void) { for (;;) __asm__ volatile(\"\"); }\n"
	  "void k(int *x, int i) { if (i < 0) { stop(); h(x); } x[0] = 1; }\n", "-O3", 1, NULL },
	{ "unused", FOR("avx512f") "void h(int *x) { for (int i = 0; i < 64; i++) x[i] *= 3; }\nint k(int x) { return x; }\n", "-O3", 1, NULL },
	{ "clones", "__attribute__((target_clones(\"avx2\", \"default\"))) int k(int *x) { int s = 0; for (int i = 0; i < 64; i++) s += x[i]; return s; }\n",
	  "-O3", 1, NULL },
	{ "a question", FOR("avx2") "void h(int *x) { for (int i = 0; i < 64; i++) x[i] *= 3; }\n"
	  "void k(int *x) { if (__builtin_cpu_supports(\"avx2\")) h(x); else x[0] = 1; }\n", "-O3", 1, NULL },
	{ "a vector form of libm", IMM FOR("avx512f") "__m512 e(__m512) __asm__(\"_ZGVeN16v_expf\");\n"
	  "extern char form[] __asm__(\"_ZGVeN16v_expf\");\nchar *k(void) { return form; }\n", NULL, 4, "uses AVX512F ('_ZGVeN16v_expf')" },
};
/* clang-format on */

static void test_levels(void **state)
{
	for (size_t i = 0; i < KL_ARRAY_SIZE(levels); i++) {
		for (int level = 1; level <= 4; level++) {
			KL_AUTO(kl_artefact_freep) struct kl_artefact *artefact = NULL;
			int err;

			snprintf(kernel.platform.march, sizeof(kernel.platform.march),
				 level == 1 ? "x86-64" : "x86-64-v%d", level);
			err = kernel_compile(&artefact, &kernel, levels[i].source, NULL,
					     levels[i].flags);
			if (level >= levels[i].level) {
				if (err)
					fail_msg("%s at level %d: %s", levels[i].what, level,
						 kl_error_last());
				continue;
			}
			print_message("%s, %d: %s\n", levels[i].what, level,
				      err ? kl_error_last() : "ACCEPTED");
			assert_int_equal(err, KL_ENO);
			assert_string_equal(kernel.class_, "cheat");
			assert_contains(kl_error_last(), levels[i].message);
		}
	}
	assert_ok(kl_machine_platform(&kernel.platform, NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sets),
		cmocka_unit_test(test_harm),
		cmocka_unit_test(test_no_instruction),
		cmocka_unit_test(test_hiding),
		cmocka_unit_test(test_hidden_is_harmful),
		cmocka_unit_test(test_steered),
		cmocka_unit_test(test_levels),
		cmocka_unit_test(test_level_names),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
