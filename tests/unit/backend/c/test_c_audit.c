/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel.h"

#include <time.h>
#include <unistd.h>

#include "backend/c/audit.h"

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

#define BODY "int k(int a) { return a + 1; }\n"

/* Refused as cheating: none of these is needed to compute anything. */
/* clang-format off */
static const struct { const char *what, *source, *message; } hostile[] = {
	{ "constructor", "static int x;\n__attribute__((constructor)) static void c(void) { x = 1; }\n"
	  "int k(void) { return x; }\n", "runs at load" },
	{ "destructor", "int x;\n__attribute__((destructor)) void c(void) { x++; }\n" BODY, "runs at load" },
	{ "init_array by asm", "void f(void) { }\n__asm__(\".section .init_array,\\\"aw\\\"\\n.quad f\\n.text\");\n"
	  BODY, "runs at load" },
	{ "init_array by attribute", "static void f(void) { }\n"
	  "__attribute__((used, section(\".init_array\"))) static void (*p)(void) = f;\n" BODY, "runs at load" },
	{ ".init code", "__asm__(\".section .init,\\\"ax\\\"\\nnop\\n.text\");\n" BODY, "runs at load" },
	{ ".ctors", "__attribute__((used, section(\".ctors\"))) static long p = 1;\n" BODY, "runs at load" },
	{ "ifunc", "static int a1(int a) { return a; }\nstatic void *pick(void) { return a1; }\n"
	  "int k(int) __attribute__((ifunc(\"pick\")));\n", "IFUNC" },
	{ "thread-local", "static __thread int t;\nint k(void) { return t++; }\n", "thread-local" },
	{ "syscall", "long k(void) { long r; __asm__ volatile(\"syscall\" : \"=a\"(r) : \"0\"(39)); return r; }\n",
	  "calls the system: 'syscall' in function 'k'" },
	{ "int 0x80", "void k(void) { __asm__ volatile(\"int $0x80\"); }\n", "calls the system" },
	{ "rdtsc", "long k(void) { return __builtin_ia32_rdtsc(); }\n", "reads a clock or counter: 'rdtsc'" },
	{ "rdtscp in a helper", "static __attribute__((noinline)) long h(void)\n"
	  "{ unsigned x; return __builtin_ia32_rdtscp(&x); }\nlong k(void) { return h(); }\n", "in function 'h'" },
	{ "rdpmc", "long k(int i) { return __builtin_ia32_rdpmc(i); }\n", "rdpmc" },
	{ "cpuid", "int k(void) { int a = 0, b, c, d;\n"
	  "__asm__ volatile(\"cpuid\" : \"+a\"(a), \"=b\"(b), \"=c\"(c), \"=d\"(d)); return a; }\n", "cpuid" },
	{ "rdrand", "long k(void) { unsigned long v; __asm__ volatile(\"rdrand %0\" : \"=r\"(v)); return v; }\n",
	  "random" },
	{ "port output", "void k(void) { __asm__ volatile(\"outb %al, $0x80\"); }\n", "port" },
	{ "segment", "long k(void) { long v; __asm__ volatile(\"mov %%fs:0, %0\" : \"=r\"(v)); return v; }\n",
	  "thread-local storage" },
	{ "far return", "void k(void) { __asm__ volatile(\"lretq\"); }\n", "segment" },
	{ "syscall in an immediate", "void k(void)\n"
	  "{ __asm__ volatile(\"jmp 1f+1\\n1: mov $0x90c3050f, %eax\"); }\n", "middle of an instruction" },
	{ "code as data bytes", "void k(void) { __asm__ volatile(\".byte 0x06, 0x0e\"); }\n", "not an instruction" },
	{ "cpu_model", "extern struct { unsigned v[4]; } __cpu_model;\n"
	  "int k(void) { return __cpu_model.v[3] & 1024; }\n", "__cpu_model" },
	{ "cpu_supports in two words", "#define A(x, y) x ## y\n"
	  "int k(void) { return A(__builtin_cpu, _supports)(\"avx2\"); }\n", "__cpu_model" },
	{ "clock", "#include <time.h>\nlong k(void) { return clock(); }\n", "uses 'clock'" },
	{ "getenv", "#include <stdlib.h>\nchar *k(void) { return getenv(\"HOME\"); }\n", "uses 'getenv'" },
	{ "printf", "#include <stdio.h>\nint k(void) { return printf(\"%d\", 1); }\n", "uses 'printf'" },
	{ "thread", "#include <pthread.h>\nstatic void *f(void *p) { return p; }\n"
	  "int k(void) { pthread_t t; return pthread_create(&t, 0, f, 0); }\n", "uses 'pthread_create'" },
	{ "weak reference", "extern int system(const char *) __attribute__((weak));\n"
	  "int k(void) { return system ? system(\"id\") : 0; }\n", "uses 'system'" },
	{ "the arena", "extern struct { char *base; } kl_rt_arena;\nchar *k(void) { return kl_rt_arena.base; }\n",
	  "uses 'kl_rt_arena'" },
	{ "own malloc", "#include <stddef.h>\nstatic char room[64];\nvoid *malloc(size_t n) { return room; }\n"
	  "void *k(void) { return malloc(8); }\n", "defines 'malloc'" },
	{ "own memcpy", "#include <stddef.h>\nvoid *memcpy(void *d, const void *s, size_t n) { return d; }\n" BODY,
	  "defines 'memcpy'" },
	{ "own clock_gettime", "int clock_gettime(int c, void *t) { return 0; }\n" BODY, "defines 'clock_gettime'" },
	{ "own expf", "float expf(float x) { return 1 + x; }\nfloat k(float x) { return expf(x); }\n", "defines 'expf'" },
	{ "the gate's name", "int kl_rt_arena;\n" BODY, "defines 'kl_rt_arena'" },
	{ "writable code", "__asm__(\".section .text.w,\\\"awx\\\"\\nnop\\n.text\");\n" BODY, "writable and executable" },
	{ "executable stack", "typedef int (*fn)(int);\nint call(fn f) { return f(1); }\n"
	  "__attribute__((noinline)) int apply(fn f, int x) { return f(x); }\n"
	  "int k(int a) { __attribute__((noinline)) int add(int b) { return a + b; }\n"
	  "	return apply(add, a); }\n", "executable stack" },
	{ "section of its own", "__attribute__((used, section(\"hidden\"))) static int x = 1;\n" BODY,
	  "a section of its own: 'hidden'" },
	{ "a note named as ld's own section", "__asm__(\".section .dynamic,\\\"a\\\",@note\\n.quad 23, 0\\n.text\");\n" BODY,
	  "a section of its own: '.dynamic'" },
	{ "a note named as relocations", "__asm__(\".section .rela.plt,\\\"a\\\",@note\\n.quad 0, 37, 0\\n.text\");\n"
	  BODY, "a section of its own: '.rela.plt'" },
	{ "a note named as data", "__asm__(\".section .rodata.x,\\\"a\\\",@note\\n.quad 0\\n.text\");\n" BODY,
	  "a section of its own: '.rodata.x'" },
	{ "constructors of an odd type", "__asm__(\".section .data.x,\\\"aw\\\",@init_array\\n.quad k\\n.text\");\n" BODY,
	  "runs at load" },
	{ "constructors under an odd name", "__asm__(\".section .rodata.init_array,\\\"aw\\\",@0xe\\n.quad k\\n.text\");\n"
	  BODY, "runs at load" },
	{ "absolute address", "__asm__(\".globl there\\n.set there, 0x400000\");\n" BODY, "absolute" },
	{ "a name that forges lines", "__asm__(\".globl \\\"a b\\\"\\n\\\"a b\\\":\\nnop\");\n" BODY, "characters other than letters" },
	{ "intermediate code", "__asm__(\".section .gnu.lto_x\\n.byte 1\\n.text\");\n" BODY, "intermediate" },
	{ "loader's libraries", "#include <dlfcn.h>\nvoid *k(void) { return dlopen(\"libc.so.6\", 1); }\n", "dlopen" },
	{ "setjmp", "#include <setjmp.h>\nstatic jmp_buf b;\nint k(void) { return setjmp(b); }\n", "setjmp" },
	{ "static data", "char big[3][1 << 29];\nint k(int i) { return big[i][i]; }\n", "1 GiB" },
};
/* clang-format on */

static void test_hostile(void **state)
{
	for (size_t i = 0; i < KL_ARRAY_SIZE(hostile); i++) {
		struct kl_artefact *artefact = NULL;
		int err = kernel_compile(&artefact, &kernel, hostile[i].source, NULL, NULL);

		print_message("%s: %s\n", hostile[i].what, err ? kl_error_last() : "ACCEPTED");
		assert_int_equal(err, KL_ENO);
		assert_string_equal(kernel.class_, "cheat");
		assert_contains(kl_error_last(), hostile[i].message);
	}
}

/* Odd, but all of it computation. */
/* clang-format off */
static const struct { const char *what, *source, *flags; } legal[] = {
	{ "arithmetic in asm", "long k(long a) { __asm__(\"imul %0, %0\" : \"+r\"(a)); return a; }\n", NULL },
	{ "a file-level asm function", "__asm__(\".text\\n.type helper,@function\\nhelper: lea 1(%rdi), %rax\\nret\\n\");\n"
	  "long helper(long);\nlong k(long a) { return helper(a); }\n", NULL },
	{ "recursion", "int k(int n) { return n < 2 ? n : k(n - 1) + k(n - 2); }\n", NULL },
	{ "mutual recursion", "static int odd(int n);\n"
	  "__attribute__((noinline)) static int even(int n) { return n ? odd(n - 1) : 1; }\n"
	  "__attribute__((noinline)) static int odd(int n) { return n ? even(n - 1) : 0; }\n"
	  "int k(int n) { return even(n); }\n", NULL },
	{ "constant tables", "static const float t[256] = { 1, 2, 3 };\nstatic const char *const s[] = { \"a\", \"b\" };\n"
	  "float k(int i) { return t[i & 255] + s[i & 1][0]; }\n", NULL },
	{ "static scratch", "static float scratch[1 << 20];\n"
	  "float k(int n) { for (int i = 0; i < n; i++) scratch[i] += i; return scratch[n / 2]; }\n", NULL },
	{ "alloca and VLA", "#include <alloca.h>\nint k(int n) { int v[n]; int *p = alloca(n * 4);\n"
	  "for (int i = 0; i < n; i++) v[i] = p[n - 1 - i] = i; return v[n / 2] + p[n / 3]; }\n", NULL },
	{ "goto", "int k(int n) { int s = 0; again: s += n; if (n-- > 0) goto again; return s; }\n", NULL },
	{ "computed goto", "int k(const char *p) { static void *const op[] = { &&add, &&sub, &&end }; int a = 0;\n"
	  "goto *op[(int)*p++]; add: a++; goto *op[(int)*p++]; sub: a--; goto *op[(int)*p++]; end: return a; }\n", NULL },
	{ "switch table", "int k(int x, int y) { switch (x) { case 0: return y; case 1: return y * 3; case 2: return y / 5;\n"
	  "case 3: return y - 7; case 4: return y ^ 9; case 5: return y << 2; case 6: return y % 11; } return 0; }\n", NULL },
	{ "function pointers", "static int a(int x) { return x + 1; }\nstatic int b(int x) { return x * 2; }\n"
	  "static int (*const f[])(int) = { a, b };\nint k(int i, int x) { return f[i & 1](x); }\n", NULL },
	{ "malloc and kin", "#include <stdlib.h>\nint k(int n) { char *p = calloc(n, 2), *q = aligned_alloc(64, n);\n"
	  "void *r; int e = posix_memalign(&r, 64, n); p = realloc(p, 4 * n); free(p); free(q); free(r); return e; }\n", NULL },
	{ "mem and str", "#include <string.h>\nint k(char *d, const char *s, int n) { memcpy(d, s, n); memmove(d + 1, d, n);\n"
	  "memset(d, 0, n); return memcmp(d, s, n) + (int)strlen(s) + (memchr(s, 1, n) != 0); }\n", "-fno-builtin" },
	{ "libm", "#include <math.h>\nfloat k(float x, double y) { return expf(x) + sqrtf(x) + (float)pow(y, 1.5) + tanhf(x)\n"
	  "+ (float)lgamma(y) + fmaf(x, x, x) + floorf(x) + (float)erf(y); }\n", NULL },
	{ "fast-math and vector libm", "#include <math.h>\nvoid k(float *x, int n) { for (int i = 0; i < n; i++) x[i] = expf(x[i]); }\n",
	  "-O3 -ffast-math" },
	{ "nested structs", "struct a { struct b { float x[4]; union { int i; float f; } u; } b[2]; };\n"
	  "float k(struct a s) { return s.b[1].x[2] + s.b[0].u.f; }\n", NULL },
	{ "128-bit integers", "unsigned __int128 k(unsigned __int128 a, unsigned __int128 b) { return a / b + a % 7; }\n", NULL },
	{ "half precision and quad", "float k(_Float16 a, __float128 b) { return (float)a + (float)(b * b); }\n", NULL },
	{ "complex", "#include <complex.h>\nfloat complex k(float complex a, float complex b) { return a * b / (a + b); }\n", NULL },
	{ "intrinsics", "#include <immintrin.h>\n#ifdef __AVX2__\nint k(const int *p) { __m256i v = _mm256_loadu_si256((const void *)p);\n"
	  "return _mm256_movemask_epi8(_mm256_add_epi32(v, v)); }\n#else\nint k(const int *p) { return *p; }\n#endif\n", NULL },
	{ "prefetch and non-temporal stores", "#include <immintrin.h>\nvoid k(float *p, const float *q, long n) {\n"
	  "for (long i = 0; i < n; i += 4) { _mm_prefetch((const char *)(q + i + 64), _MM_HINT_T0);\n"
	  "_mm_stream_ps(p + i, _mm_loadu_ps(q + i)); } _mm_sfence(); }\n", NULL },
	{ "rounding mode", "#include <immintrin.h>\nfloat k(float x) { unsigned c = _mm_getcsr(); _mm_setcsr(c | 0x8040);\n"
	  "x *= 1e-30f; _mm_setcsr(c); return x; }\n", NULL },
	{ "long double", "long double k(long double x) { return x * x + 1; }\n", NULL },
	{ "trap", "int k(int n) { if (n < 0) __builtin_trap(); return n; }\n", NULL },
	{ "assert", "#include <assert.h>\nint k(int n) { assert(n > 0); return n; }\n", NULL },
	{ "atomics", "int k(int *p) { return __atomic_fetch_add(p, 1, __ATOMIC_SEQ_CST); }\n", NULL },
	{ "static function of a library's name", "static float select(float a, float b) { return a < b ? a : b; }\n"
	  "static int write(int x) { return x; }\nfloat k(float a) { return select(a, write(1)); }\n", NULL },
	{ "cold code", "__attribute__((cold, noinline)) static int bad(int x) { return x * 77; }\n"
	  "int k(int x) { if (__builtin_expect(x < 0, 0)) return bad(x); return x; }\n", "-O3" },
	{ "size-optimized", "int k(const int *p, int n) { int s = 0; for (int i = 0; i < n; i++) s += p[i] / 3; return s; }\n", "-Os" },
	{ "no optimization", "int k(const int *p, int n) { int s = 0; for (int i = 0; i < n; i++) s += p[i]; return s; }\n", "-O0" },
	{ "syscall as a number", "int k(int x) { return x == 0x050f ? 0x310f : 0xa20f; }\n", NULL },
};
/* clang-format on */

static void test_legal(void **state)
{
	for (size_t i = 0; i < KL_ARRAY_SIZE(legal); i++) {
		KL_AUTO(kl_artefact_freep) struct kl_artefact *artefact = NULL;
		int err = kernel_compile(&artefact, &kernel, legal[i].source, NULL, legal[i].flags);

		if (err)
			fail_msg("%s: %s: %s", legal[i].what, kernel.class_ ? kernel.class_ : "-",
				 kl_error_last());
	}
}

/* Two files: what one needs, another may define; what neither may have stays refused. */
static void test_two_files(void **state)
{
	KL_AUTO(kl_artefact_freep) struct kl_artefact *left = NULL;
	struct kl_artefact *right = NULL;

	assert_ok(kernel_compile(
		&left, &kernel, "int second(int);\nint k(int a) { return second(a); }\n",
		"extern const int table[4];\nint second(int a) { return a * 2; }\n", NULL));
	assert_error(KL_ENO, "uses 'getpid'",
		     kernel_compile(&right, &kernel,
				    "int second(int);\nint k(int a) { return second(a); }\n",
				    "int getpid(void);\nint second(int a) { return getpid(); }\n",
				    NULL));
	assert_string_equal(kernel.class_, "cheat");
}

/* Names that two objects use and define take no time to speak of, however many there are. */
static void test_many_names(void **state)
{
	enum { MANY = 16000 };
	KL_AUTO(kl_buf_release) struct kl_buf first = KL_BUF_INIT, second = KL_BUF_INIT;
	KL_AUTO(kl_artefact_freep) struct kl_artefact *artefact = NULL;
	clock_t begin = clock();

	kl_buf_adds(&first, "int k(void) { return 1; }\n__asm__(\".data\\n");
	kl_buf_adds(&second, "__asm__(\".data\\n");
	for (int i = 0; i < MANY; i++) {
		kl_buf_addf(&first, ".globl a%d\\na%d: .quad b%d\\n", i, i, MANY - 1 - i);
		kl_buf_addf(&second, ".globl b%d\\nb%d: .quad a%d\\n", i, i, (i * 7) % MANY);
	}
	kl_buf_adds(&first, ".text\");\n");
	kl_buf_adds(&second, ".text\");\n");
	assert_ok(kernel_compile(&artefact, &kernel, first.ptr, second.ptr, NULL));
	assert_true(clock() - begin < 3 * CLOCKS_PER_SEC); /* of this process: no compiler */
}

/* A strong definition counts before a weak one, and of two the first. */
static void test_index(void **state)
{
	static const char weak[] = "__attribute__((weak)) int one = 1;\nint two = 2;\n" BODY;
	static const char strong[] = "int one = 3, three = 4;\nstatic int two;\n"
				     "int *second(void) { return &two; }\n";
	KL_AUTO(kl_symbol_index_release) struct kl_symbol_index index = { .entry = NULL };
	KL_AUTO(kl_artefact_freep) struct kl_artefact *artefact = NULL;
	KL_AUTO(kl_freep) char *left = kl_fs_join(kernel.dir, "kernel/0.o");
	KL_AUTO(kl_freep) char *right = kl_fs_join(kernel.dir, "kernel/1.o");
	struct kl_object *object[2];

	assert_ok(kernel_compile(&artefact, &kernel, weak, strong, NULL));
	assert_ok(kl_object_read(&object[0], left));
	assert_ok(kl_object_read(&object[1], right));
	kl_symbol_index_build(&index, (const struct kl_object *const *)object, 2);
	assert_int_equal(kl_symbol_index_find(&index, "one")->obj, 1);
	assert_int_equal(kl_symbol_index_find(&index, "two")->obj, 0);
	assert_int_equal(kl_symbol_index_find(&index, "three")->obj, 1);
	assert_null(kl_symbol_index_find(&index, "four"));
	assert_null(kl_symbol_index_clash(&index));
	kl_symbol_index_release(&index);
	kl_symbol_index_build(&index, (const struct kl_object *const[]){ object[0], object[0] }, 2);
	assert_string_equal(kl_symbol_index_clash(&index), "k");
	kl_object_free(object[0]);
	kl_object_free(object[1]);
}

static void test_symbol_kinds(void **state)
{
	/* clang-format off */
	static const struct { const char *name; enum kl_symbol_kind kind; } table[] = {
		{ "memcpy", KL_SYMBOL_MEMORY }, { "strlen", KL_SYMBOL_MEMORY }, { "exp", KL_SYMBOL_MATH },
		{ "expf", KL_SYMBOL_MATH }, { "expl", KL_SYMBOL_MATH }, { "_ZGVdN8v_expf", KL_SYMBOL_MATH },
		{ "_ZGVbN4v_system", KL_SYMBOL_FOREIGN }, { "malloc", KL_SYMBOL_ALLOC },
		{ "__divti3", KL_SYMBOL_HELPER }, { "system", KL_SYMBOL_FOREIGN }, { "", KL_SYMBOL_FOREIGN },
		{ "strdup", KL_SYMBOL_FOREIGN }, { "memcpy memmove", KL_SYMBOL_FOREIGN }, { "f", KL_SYMBOL_FOREIGN },
		{ "__cpu_model", KL_SYMBOL_FOREIGN }, { "_ZGV", KL_SYMBOL_FOREIGN },
	};
	/* clang-format on */

	for (size_t i = 0; i < KL_ARRAY_SIZE(table); i++)
		assert_int_equal(kl_symbol_kind(table[i].name), table[i].kind);
	assert_true(kl_symbol_reserved("kl_anything"));
	assert_false(kl_symbol_reserved("sgemm"));
}

/* What the entry does not reach is left out of the image, so it may use and be anything. */
static void test_unreached(void **state)
{
	static const char first[] =
		"#include <stdio.h>\n#include <time.h>\n" BODY
		"void show(int a) { printf(\"%d at %ld\\n\", a, (long)time(0)); }\n"
		"long ticks(void) { return __builtin_ia32_rdtsc(); }\n"
		"static int (*volatile fn)(const char *, ...) = printf;\n"
		"int main(void) { fn(\"x\"); show(k(1)); return ticks() > 0; }\n";
	static const char second[] = "void show(int);\nint k2(int a) { show(a); return a; }\n";
	KL_AUTO(kl_artefact_freep) struct kl_artefact *artefact = NULL, *two = NULL;
	struct kl_artefact *refused = NULL;

	assert_ok(kernel_compile(&artefact, &kernel, first, NULL, NULL));
	assert_ok(kernel_compile(&two, &kernel, first, second, NULL));
	/* the entry reaches the same functions: by a call, by data, through the second file */
	assert_error(KL_ENO, "uses 'printf'",
		     kernel_compile(&refused, &kernel,
				    "#include <stdio.h>\nvoid show(int a) { printf(\"%d\", a); }\n"
				    "int k(int a) { show(a); return a; }\n",
				    NULL, NULL));
	assert_error(
		KL_ENO, "uses 'puts'",
		kernel_compile(&refused, &kernel,
			       "#include <stdio.h>\nint (*const fn[])(const char *) = { puts };\n"
			       "int k(int a) { return fn[a & 1](\"\"); }\n",
			       NULL, NULL));
	assert_error(KL_ENO, "reads a clock or counter: 'rdtsc'",
		     kernel_compile(&refused, &kernel,
				    "long ticks(void);\nlong k(void) { return ticks(); }\n",
				    "long ticks(void) { return __builtin_ia32_rdtsc(); }\n", NULL));
	assert_error(KL_ENO, "defines 'main'",
		     kernel_compile(&refused, &kernel,
				    "__attribute__((noipa)) int main(void) { return 1; }\n"
				    "int k(void) { return main(); }\n",
				    NULL, NULL));
}

static void audit_alone(const struct kl_object *object)
{
	const struct kl_audit audit = { .object = &object, .n = 1 };

	kl_audit_object(&audit, 0);
}

/* Files that are no objects, or broken ones. */
static void test_broken(void **state)
{
	KL_AUTO(kl_freep) char *path = kl_fs_join(kernel.dir, "broken.o");
	KL_AUTO(kl_freep) char *link = kl_fs_join(kernel.dir, "link.o");
	KL_AUTO(kl_freep) char *good = kl_fs_join(kernel.dir, "kernel/0.o");
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;
	KL_AUTO(kl_artefact_freep) struct kl_artefact *artefact = NULL;
	struct kl_object *object = NULL;

	assert_ok(kl_fs_put(path, "no ELF", 6, 0644));
	assert_error(KL_EIO, "not an ELF file", kl_object_read(&object, path));
	assert_ok(kernel_compile(&artefact, &kernel, BODY, NULL, NULL));
	assert_ok(kl_fs_read(&buf, good, 1 << 20));
	/* every byte of the headers broken in turn: an error or an object, never a crash */
	for (size_t i = 4; i < buf.len; i += i < 64 ? 1 : 7) {
		char saved = buf.ptr[i];
		KL_AUTO(kl_object_freep) struct kl_object *broken = NULL;

		buf.ptr[i] = (char)~saved;
		assert_ok(kl_fs_put(path, buf.ptr, buf.len, 0644));
		if (!kl_object_read(&broken, path))
			audit_alone(broken);
		buf.ptr[i] = saved;
	}
	for (size_t n = 0; n < buf.len; n += 16) {
		KL_AUTO(kl_object_freep) struct kl_object *cut = NULL;

		assert_ok(kl_fs_put(path, buf.ptr, n, 0644));
		if (!kl_object_read(&cut, path))
			audit_alone(cut);
	}
	assert_int_equal(symlink(good, link), 0);
	assert_true(kl_object_read(&object, link) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_symbol_kinds), cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_many_names),   cmocka_unit_test(test_index),
		cmocka_unit_test(test_legal),        cmocka_unit_test(test_two_files),
		cmocka_unit_test(test_unreached),    cmocka_unit_test(test_broken),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
