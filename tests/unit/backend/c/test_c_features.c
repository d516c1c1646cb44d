/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel.h"

#include "backend/c/code/code.h"

static struct kernel kernel;

static int setup(void **state)
{
	kernel_setup(&kernel);
	/* only compiled, never run: any level will do */
	strcpy(kernel.platform.march, "x86-64-v3");
	return 0;
}

static int teardown(void **state)
{
	kernel_teardown(&kernel);
	return 0;
}

#define IMM "#include <immintrin.h>\n"
#define LOOP                                                              \
	"__attribute__((noinline)) static int h(const float *x, int n)\n" \
	"{ float s = 0; for (int i = 0; i < n; i++) s += x[i]; return (int)s; }\n"

/*
 * `has`: features that must be there; `not`: that must not. "loop.depth.2" and so on are checked
 * like any other.
 */
/* clang-format off */
static const struct { const char *what, *source, *flags, *has, *not; } table[] = {
	{ "scalar sum", "float k(const float *x, int n) { float s = 0; for (int i = 0; i < n; i++) s += x[i]; return s; }\n",
	  "-O2", "loop.depth.1", "vec.128 vec.256 avx2.fma fma.scalar alloc recursion spill" },
	{ "fabs is no vector", "#include <math.h>\nfloat k(float x) { return -fabsf(x); }\n", "-O2", "loop.depth.0", "vec.128" },
	{ "zeroing is no vector", "void k(float *x, int n) { for (int i = 0; i < n; i++) { x[i] = 0; __asm__(\"\" ::: \"memory\"); } }\n",
	  "-O2", "loop.depth.1", "vec.128 vec.256" },
	{ "vectorized sum", "float k(const float *x, int n) { float s = 0; for (int i = 0; i < n; i++) s += x[i]; return s; }\n",
	  "-O3 -ffast-math", "vec.256 loop.depth.1", "avx2.fma" },
	{ "scalar fma", "float k(float a, float b, float c) { return a * b + c; }\n", "-O2", "fma.scalar", "avx2.fma vec.128" },
	{ "packed fma", IMM "void k(float *x, const float *y) { _mm256_storeu_ps(x, _mm256_fmadd_ps(_mm256_loadu_ps(x),\n"
	  "_mm256_loadu_ps(y), _mm256_loadu_ps(x + 8))); }\n", "-O2", "avx2.fma vec.256", "fma.scalar vec.128 shuffle" },
	{ "copying vectors is no arithmetic", IMM "void k(float *x, const float *y) { _mm256_storeu_ps(x, _mm256_loadu_ps(y)); }\n",
	  "-O2", "loop.depth.0", "vec.256" },
	{ "integer vectors", IMM "void k(int *x) { __m256i v = _mm256_loadu_si256((void *)x);\n"
	  "_mm256_storeu_si256((void *)x, _mm256_and_si256(v, _mm256_slli_epi32(v, 3))); }\n", "-O2", "vec.256", "avx2.fma" },
	{ "gather", IMM "__m256 k(const float *x, const int *i) { return _mm256_i32gather_ps(x, _mm256_loadu_si256((const void *)i), 4); }\n",
	  "-O2", "gather", "shuffle" },
	{ "prefetch", "void k(const char *x) { __builtin_prefetch(x + 256); }\n", "-O2", "prefetch", "nt-store" },
	{ "non-temporal store", IMM "void k(float *x, __m128 v) { _mm_stream_ps(x, v); }\n", "-O2", "nt-store", "prefetch" },
	{ "shuffle, blend, movmask", IMM "int k(const float *x) { __m256 v = _mm256_loadu_ps(x);\n"
	  "v = _mm256_blend_ps(v, _mm256_permute_ps(v, 0x1b), 0x3c); return _mm256_movemask_ps(v); }\n", "-O2",
	  "shuffle blend movmask", "vec.256" },
	{ "popcnt and bit tricks", "#include <immintrin.h>\nlong k(unsigned long x) { return __builtin_popcountl(x) + __builtin_ctzl(x)\n"
	  "+ _pext_u64(x, 0xff00ff); }\n", "-O2", "popcnt bmi", "vec.128" },
	{ "division and root", "#include <math.h>\nfloat k(float a, float b) { return a / b + __builtin_sqrtf(b); }\n",
	  "-O2 -fno-math-errno", "div sqrt", "idiv convert approx" },
	{ "integer division", "int k(int a, int b) { return a / b; }\n", "-O2", "idiv", "div" },
	{ "conversion", "float k(int a) { return a; }\n", "-O2", "convert", "div" },
	{ "estimate", IMM "__m256 k(__m256 a) { return _mm256_rsqrt_ps(a); }\n", "-O2", "approx sqrt", "div" },
	{ "allocation", "#include <stdlib.h>\nint k(int n) { volatile char *p = malloc(n); p[0] = 1; n = p[0]; free((void *)p); return n; }\n",
	  "-O2", "alloc", "call.malloc call.free call.indirect" },
	{ "library calls", "#include <math.h>\n#include <string.h>\nfloat k(char *p, int n, float x) { memset(p, 1, n); return expf(x); }\n",
	  "-O2", "call.memset call.expf", "alloc call.indirect" },
	{ "a tail call", "#include <math.h>\nfloat k(float x) { return expf(x); }\n", "-O2", "call.expf", "call.indirect" },
	{ "call through a pointer", "int k(int (*f)(int), int x) { return f(x) + 1; }\n", "-O2", "call.indirect", "recursion" },
	{ "recursion", "int k(int n) { return n < 2 ? n : k(n - 1) * k(n - 2); }\n", "-O1", "recursion", "call.indirect" },
	{ "mutual recursion", "int k(int n);\n__attribute__((noinline)) static int o(int n) { return n ? k(n - 1) + 1 : 0; }\n"
	  "int k(int n) { return n ? o(n - 1) + 2 : 1; }\n", "-O1", "recursion", "" },
	{ "no recursion", "__attribute__((noinline)) static int o(int n) { return n * 3; }\nint k(int n) { return o(n) + o(n + 1); }\n",
	  "-O1", "loop.depth.0", "recursion" },
	{ "three loops", "void k(int n, const float *a, const float *b, float *c) { for (int i = 0; i < n; i++) for (int j = 0; j < n; j++)\n"
	  "{ float s = 0; for (int l = 0; l < n; l++) s += a[i * n + l] * b[l * n + j]; c[i * n + j] = s; } }\n",
	  "-O2", "loop.depth.3", "loop.depth.2 loop.depth.4" },
	{ "loops one after the other", "int k(int n, int *x) { int s = 0; for (int i = 0; i < n; i++) s += x[i];\n"
	  "for (int i = 0; i < n; i++) s ^= x[i] * s; return s; }\n", "-O1", "loop.depth.1", "loop.depth.2" },
	{ "a loop around a call of a loop", "__attribute__((noinline)) static int in(int n, const int *x) { int s = 0;\n"
	  "for (int i = 0; i < n; i++) s = s * 3 + x[i]; return s; }\n"
	  "int k(int n, const int *x) { int s = 0; for (int i = 0; i < n; i++) s += in(i, x); return s; }\n", "-O1", "loop.depth.2", "" },
	{ "a loop in unreachable code", "int dead(int n) { int s = 0; for (int i = 0; i < n; i++) s = s * n + i; return s; }\n"
	  "int k(int n) { return n; }\n", "-O1", "loop.depth.0", "loop.depth.1" },
	{ "a loop with two entries", "int k(int n, int m) { int s = 0; if (n & 1) goto in;\nout: s += m * s; if (s > 900) return s;\n"
	  "in: s ^= n++; goto out; }\n", "-O1", "loop.depth.1", "loop.depth.unknown" },
	{ "a switch in a loop", "int k(int n, const int *x) { int s = 1; for (int i = 0; i < n; i++) switch (x[i]) {\n"
	  "case 0: s += 3; break; case 1: s *= 5; break; case 2: s ^= i; break; case 3: s -= 9; break; case 4: s <<= 1; break;\n"
	  "case 5: s %= 77; break; case 6: s |= 1; break; } return s; }\n", "-O2", "jump-table loop.depth.1", "loop.depth.unknown table" },
	{ "a loop in a switch case", "int k(int n, int m) { int s = 1; switch (m) { case 0: s += 3; break; case 1: s *= 5; break;\n"
	  "case 2: for (int i = 0; i < n; i++) s = s * 7 + i; break; case 3: s -= n; break; case 4: s <<= n & 3; break; case 5: s = -n; } return s; }\n",
	  "-O1", "jump-table loop.depth.1", "loop.depth.0 loop.depth.unknown" },
	{ "jumps through several tables", "int k(const char *p) { static void *const op[] = { &&add, &&sub, &&end }; int a = 0;\n"
	  "goto *op[(int)*p++]; add: a += 3; goto *op[(int)*p++]; sub: a--; goto *op[(int)*p++]; end: return a; }\n",
	  "-O2 -fno-gcse -fno-crossjumping", "jump-table", "" },
	{ "functions in a table", "static int a(int x) { return x + 1; }\nstatic int b(int x) { int s = 0; for (int i = 0; i < x; i++) s = s * 3 + i; return s; }\n"
	  "static int (*const f[])(int) = { a, b };\nint k(int i, int x) { return f[i & 1](x) + 1; }\n", "-O1", "call.indirect loop.depth.0 pointer.loop.depth.1", "loop.depth.1 pointer.call.indirect" },
	{ "a tail call through a pointer", "int k(int (*f)(int), int x) { return f(x); }\n", "-O2", "call.indirect", "jump-table" },
	{ "a constant pointer", LOOP "__attribute__((used)) static int (*const f)(const float *, int) = h;\n"
	  "void k(const float *x, int n) { __asm__ volatile(\"call *f(%%rip)\" ::: \"rax\", \"rcx\", \"xmm0\", \"memory\"); }\n",
	  "-O1", "loop.depth.1", "pointer.loop.depth.1" },
	{ "a pointer that can change", LOOP "__attribute__((used)) static int (*f)(const float *, int) = h;\n"
	  "void k(const float *x, int n) { __asm__ volatile(\"call *f(%%rip)\" ::: \"rax\", \"rcx\", \"xmm0\", \"memory\"); }\n",
	  "-O1", "loop.depth.0 pointer.loop.depth.1", "loop.depth.1" },
	{ "a pointer that can change, and whose name begins with ro", "#include <math.h>\n"
	  "static float (*root)(float) = sqrtf;\nfloat k(float x) { float r = root(x); root = cbrtf; return r; }\n", "-O1", "call.indirect static-data", "call.sqrtf" },
	{ "stored, never called", LOOP "int (*volatile f)(const float *, int);\nint k(const float *x, int n) { f = h; return n; }\n",
	  "-O3 -ffast-math", "loop.depth.0 static-data", "loop.depth.1 vec.256 vec.128 pointer.vec.256 call.indirect" },
	{ "in a table, never called", LOOP "static int (*const t[])(const float *, int) = { h, h };\n"
	  "const void *k(int i) { return &t[i & 1]; }\n", "-O3 -ffast-math", "loop.depth.0", "vec.256 vec.128 pointer.vec.256" },
	{ "returned, never called", LOOP "void *k(void) { return h; }\n", "-O3 -ffast-math", "loop.depth.0", "vec.256 pointer.vec.256" },
	{ "called by what is never called", LOOP "static int g(const float *x, int n) { return h(x, n) + 1; }\n"
	  "void *k(void) { return g; }\n", "-O3 -ffast-math", "loop.depth.0", "vec.256" },
	{ "stored, and another one is called", LOOP "int (*volatile f)(const float *, int);\n"
	  "int k(int (*g)(int), int n) { f = h; return g(n) + 1; }\n", "-O3 -ffast-math", "call.indirect pointer.loop.depth.1", "vec.256 loop.depth.1" },
	{ "behind a call that never returns", LOOP "__attribute__((noinline, noipa)) static void stop(void) { for (;;) __asm__ volatile(\"\"); }\n"
	  "int k(const float *x, int n) { if (n < 0) { stop(); return h(x, n); } return n; }\n", "-O3 -ffast-math", "loop.depth.1", "vec.256 vec.128" },
	{ "behind a trap", "int k(int n) { if (n < 0) { __asm__ volatile(\"ud2\\n\\tvaddps %%ymm0, %%ymm0, %%ymm0\\n\\tud2\" ::: \"xmm0\"); } return n; }\n",
	  "-O2", "loop.depth.0", "vec.256" },
	{ "a jump around", "int k(int n) { __asm__ volatile(\"jmp 1f\\n\\tvaddps %%ymm0, %%ymm0, %%ymm0\\n1:\" ::: \"xmm0\"); return n; }\n",
	  "-O2", "loop.depth.0", "vec.256" },
	{ "recursion that ends", "__attribute__((noinline)) static int o(int n) { return n < 2 ? 1 : o(n - 1) * o(n - 2) + 1; }\n"
	  "int k(const float *x, int n) { int s = o(n); for (int i = 0; i < n; i++) s = s * 3 + i; return s; }\n", "-O1", "recursion loop.depth.1", "" },
	{ "a constant table", "static const int t[64] = { 5, 3, 9 };\nint k(int i) { return t[i & 63]; }\n", "-O2", "table", "static-data jump-table" },
	{ "static scratch", "static int t[64];\nint k(int i) { return t[i & 63]++; }\n", "-O2", "static-data", "table" },
	{ "a float literal is no table", "float k(float x) { return x * 3.7f + 1.1f; }\n", "-O2", "fma.scalar", "table static-data" },
	{ "large stack", "int k(int n, int i) { volatile char b[9000]; b[i] = n; return b[n]; }\n", "-O2", "stack.large", "static-data" },
	{ "small stack", "int k(int n, int i) { volatile char b[900]; b[i] = n; return b[n]; }\n", "-O2", "loop.depth.0", "stack.large" },
	{ "spills", IMM "void k(float *p, __m256 v) { v = _mm256_mul_ps(v, v); __asm__ volatile(\"\" ::: ALL);\n"
	  "_mm256_storeu_ps(p, _mm256_add_ps(v, v)); }\n",
	  "-O2 -DALL=\"xmm0\",\"xmm1\",\"xmm2\",\"xmm3\",\"xmm4\",\"xmm5\",\"xmm6\",\"xmm7\","
	  "\"xmm8\",\"xmm9\",\"xmm10\",\"xmm11\",\"xmm12\",\"xmm13\",\"xmm14\",\"xmm15\"", "spill vec.256", "stack.large" },
	{ "a local array is no spill", "float k(const float *x, int n, int i) { volatile float b[8]; for (int j = 0; j < 8; j++) b[j] = x[j];\n"
	  "return b[i & 7]; }\n", "-O1", "loop.depth.1", "spill" },
	{ "long double", "long double k(long double x) { return x * x; }\n", "-O2", "x87", "vec.128" },
	{ "atomic", "int k(int *p) { return __atomic_fetch_add(p, 1, 5); }\n", "-O2", "atomic", "" },
	{ "string instruction", "#include <string.h>\nvoid k(char *p) { memset(p, 0, 4096); }\n", "-Os", "rep", "call.memset" },
	{ "512 bits", IMM "void k(float *x) { _mm512_storeu_ps(x, _mm512_mul_ps(_mm512_loadu_ps(x), _mm512_loadu_ps(x + 16))); }\n",
	  "-O2 -mavx512f", "vec.512", "vec.256 masked" },
	{ "masks", IMM "void k(float *x, int m) { _mm512_mask_storeu_ps(x, m, _mm512_maskz_add_ps(m, _mm512_loadu_ps(x), _mm512_loadu_ps(x))); }\n",
	  "-O2 -mavx512f", "vec.512 masked", "" },
	{ "one sum is no choice of sums", "long k(const long *x, long n) { long s = 0; for (long i = 0; i < n; i++) s += x[i]; return s; }\n",
	  "-O2", "loop.depth.1", "accumulators mul.wide crc32 madd" },
	{ "four sums", "double k(const double *x, long n) { double a = 0, b = 0, c = 0, d = 0; for (long i = 0; i < n; i += 4) {\n"
	  "a += x[i]; b += x[i + 1]; c += x[i + 2]; d += x[i + 3]; } return a + b + c + d; }\n", "-O2 -fno-tree-vectorize",
	  "accumulators accumulators.4", "accumulators.1 accumulators.5" },
	{ "a register tile", IMM "void k(float *c, const float *a, const float *b, long n) { __m256 s[6] = { 0 }; for (long i = 0; i < n; i++)\n"
	  "for (int r = 0; r < 6; r++) s[r] = _mm256_fmadd_ps(_mm256_set1_ps(a[6 * i + r]), _mm256_loadu_ps(b + 8 * i), s[r]);\n"
	  "for (int r = 0; r < 6; r++) _mm256_storeu_ps(c + 8 * r, s[r]); }\n", "-O3", "accumulators.6", "" },
	{ "a sum that feeds another waits for it", "unsigned k(const unsigned char *x, long n) { unsigned a = 1, b = 0;\n"
	  "for (long i = 0; i < n; i++) { a += x[i]; b += a; } return a ^ b << 16; }\n", "-O2 -fno-tree-vectorize", "loop.depth.1", "accumulators" },
	{ "counters are no sums", "void k(float *x, const float *y, long n) { for (long i = 0, j = n; i < n; i++, j--) x[j] = y[i]; }\n",
	  "-O2 -fno-tree-vectorize", "loop.depth.1", "accumulators" },
	{ "a hash of four lanes", "unsigned k(const unsigned *x, long n) { unsigned v[4] = { 1, 2, 3, 4 }; for (long i = 0; i + 4 <= n; i += 4)\n"
	  "for (int l = 0; l < 4; l++) { v[l] += x[i + l] * 2246822519u; v[l] = (v[l] << 13 | v[l] >> 19) * 2654435761u; }\n"
	  "return v[0] + v[1] + v[2] + v[3]; }\n", "-O3 -fno-tree-vectorize -fno-tree-slp-vectorize", "accumulators.4", "mul.wide" },
	{ "multiply and add neighbours", IMM "__m256i k(__m256i a, __m256i b) { return _mm256_madd_epi16(_mm256_maddubs_epi16(a, b), b); }\n",
	  "-O2", "madd vec.256", "sad mul.wide" },
	{ "sums of differences", IMM "__m256i k(__m256i a, __m256i b) { return _mm256_sad_epu8(a, b); }\n", "-O2", "sad vec.256", "madd" },
	{ "wide vector product", IMM "__m256i k(__m256i a, __m256i b) { return _mm256_mul_epu32(a, b); }\n", "-O2", "mul.wide", "madd" },
	{ "wide product", "unsigned long k(unsigned long a, unsigned long b) { return (unsigned __int128)a * b >> 64 ^ a * b; }\n", "-O2",
	  "mul.wide", "madd" },
	{ "wide product without mulx", "unsigned long k(unsigned long a, unsigned long b) { return (unsigned __int128)a * b >> 64 ^ a * b; }\n",
	  "-O2 -mno-bmi2", "mul.wide", "bmi" },
	{ "plain products are not wide", "long k(long a, int b) { return a * a * b; }\n", "-O2", "loop.depth.0", "mul.wide" },
	{ "crc32", IMM "unsigned k(const unsigned char *x, long n) { unsigned long s = -1; for (long i = 0; i < n; i++)\n"
	  "s = _mm_crc32_u8(s, x[i]); return s; }\n", "-O2", "crc32", "clmul accumulators" },
	{ "three streams of crc32", IMM "unsigned long k(const unsigned long *x, long n) { unsigned long a = 0, b = 0, c = 0;\n"
	  "for (long i = 0; i < n; i++) { a = _mm_crc32_u64(a, x[i]); b = _mm_crc32_u64(b, x[n + i]); c = _mm_crc32_u64(c, x[2 * n + i]); }\n"
	  "return a ^ b ^ c; }\n", "-O2", "crc32 accumulators.3", "" },
	{ "a table in a register", IMM "__m256i k(__m256i x) { __m256i t = _mm256_setr_epi8(0,1,1,2,1,2,2,3,1,2,2,3,2,3,3,4,0,1,1,2,1,2,2,3,1,2,2,3,2,3,3,4);\n"
	  "return _mm256_shuffle_epi8(t, _mm256_and_si256(x, _mm256_set1_epi8(15))); }\n", "-O2", "table-shuffle shuffle", "" },
	{ "bytes turned around", IMM "__m128i k(__m128i x) { return _mm_shuffle_epi8(x, _mm_setr_epi8(15,14,13,12,11,10,9,8,7,6,5,4,3,2,1,0)); }\n",
	  "-O2", "shuffle", "table-shuffle" },
};
/* clang-format on */

static void test_features(void **state)
{
	for (size_t i = 0; i < KL_ARRAY_SIZE(table); i++) {
		KL_AUTO(kl_artefact_freep) struct kl_artefact *artefact = NULL;
		KL_AUTO(kl_strvec_release) struct kl_strvec has = KL_STRVEC_INIT,
							    not = KL_STRVEC_INIT;
		KL_AUTO(kl_buf_release) struct kl_buf all = KL_BUF_INIT;

		strcpy(kernel.platform.march,
		       strstr(table[i].flags, "avx512") ? "x86-64-v4" : "x86-64-v3");
		if (kernel_compile(&artefact, &kernel, table[i].source, NULL, table[i].flags))
			fail_msg("%s: %s", table[i].what, kl_error_last());
		kl_strvec_split(&has, table[i].has, " ");
		kl_strvec_split(&not, table[i].not, " ");
		for (size_t k = 0; k < artefact->facts.features.n; k++) {
			kl_buf_addf(&all, " %s", artefact->facts.features.v[k]);
			assert_true(kl_code_has_feature(artefact->facts.features.v[k]));
		}
		for (size_t k = 0; k < has.n; k++)
			if (!kl_strvec_has(&artefact->facts.features, has.v[k]))
				fail_msg("%s: no %s in:%s", table[i].what, has.v[k], all.ptr);
		for (size_t k = 0; k < not .n; k++)
			if (kl_strvec_has(&artefact->facts.features, not .v[k]))
				fail_msg("%s: %s in:%s", table[i].what, not .v[k], all.ptr);
	}
}

static void test_no_feature(void **state)
{
	assert_false(kl_code_has_feature("wgmma"));
	assert_false(kl_code_has_feature("smem"));
	assert_false(kl_code_has_feature("vec"));
	assert_false(kl_code_has_feature(""));
}

static void digest_of(char out[65], const char *source, const char *flags)
{
	KL_AUTO(kl_artefact_freep) struct kl_artefact *artefact = NULL;

	if (kernel_compile(&artefact, &kernel, source, NULL, flags))
		fail_msg("%s\n%s", source, kl_error_last());
	strcpy(out, artefact->facts.code_digest);
	assert_int_equal(strlen(out), 64);
}

#define SUM(name, body)                                                                          \
	"float k(const float *" name ", int n) { float s = 0; for (int i = 0; i < n; i++) " body \
	" return s; }\n"

/* Pairs of sources: same machine code but for names, places and padding, or not. */
/* clang-format off */
static const struct { const char *what, *a, *b; bool same; } pairs[] = {
	{ "names and comments", SUM("x", "s += x[i];"), "/* sum */\n" SUM("vector", "s += vector[i];"), true },
	{ "an unused function before", SUM("x", "s += x[i];"), "int other(int a) { return a * 99; }\n" SUM("x", "s += x[i];"), true },
	{ "a helper's name and place", "__attribute__((noinline)) static int h(int a) { return a * 7; }\nint k(int a) { return h(a) + h(a + 1); }\n",
	  "static int twice(int);\nint k(int a) { return twice(a) + twice(a + 1); }\n"
	  "__attribute__((noinline)) static int twice(int a) { return a * 7; }\n", true },
	{ "another operation", SUM("x", "s += x[i];"), SUM("x", "s -= x[i];"), false },
	{ "another literal", "float k(float x) { return x * 1.5f; }\n", "float k(float x) { return x * 2.5f; }\n", false },
	{ "another immediate", "int k(int x) { return x ^ 12345; }\n", "int k(int x) { return x ^ 12346; }\n", false },
	{ "another table entry", "static const int t[40] = { 1, 2 };\nint k(int i) { return t[i]; }\n",
	  "static const int t[40] = { 1, 3 };\nint k(int i) { return t[i]; }\n", false },
	{ "a table's name and place", "static const int t[40] = { 1, 2 };\nint k(int i) { return t[i]; }\n",
	  "const char pad[100] = { 7 };\nstatic const int table[40] = { 1, 2 };\nint k(int i) { return table[i] + 0 * pad[0]; }\n", true },
	{ "another size of scratch", "static int t[40];\nint k(int i) { return t[i]++; }\n", "static int t[41];\nint k(int i) { return t[i]++; }\n", false },
	{ "another string", "const char *k(void) { return \"abc\"; }\n", "const char *k(void) { return \"abd\"; }\n", false },
	{ "a string among others", "const char *k(void) { return \"abc\"; }\n",
	  "const char *other(void) { return \"zzz\"; }\nconst char *k(void) { return \"abc\"; }\n", true },
	{ "another library function", "#include <math.h>\nfloat k(float x) { return expf(x); }\n", "#include <math.h>\nfloat k(float x) { return logf(x); }\n", false },
	{ "a helper that differs", "__attribute__((noinline)) static int h(int a) { return a * 7; }\nint k(int a) { return h(a) + 1; }\n",
	  "__attribute__((noinline)) static int h(int a) { return a * 9; }\nint k(int a) { return h(a) + 1; }\n", false },
	{ "functions in a table, swapped", "static int a(int x) { return x + 1; }\nstatic int b(int x) { return x * 5; }\n"
	  "static int (*const f[])(int) = { a, b };\nint k(int i, int x) { return f[i & 1](x); }\n",
	  "static int a(int x) { return x + 1; }\nstatic int b(int x) { return x * 5; }\n"
	  "static int (*const f[])(int) = { b, a };\nint k(int i, int x) { return f[i & 1](x); }\n", false },
};
/* clang-format on */

static void test_digest(void **state)
{
	char left[65], right[65];

	for (size_t i = 0; i < KL_ARRAY_SIZE(pairs); i++) {
		digest_of(left, pairs[i].a, "-O2");
		digest_of(right, pairs[i].b, "-O2");
		if (!strcmp(left, right) != pairs[i].same)
			fail_msg("%s: the digests are %s", pairs[i].what,
				 pairs[i].same ? "different" : "the same");
	}
	digest_of(left, SUM("x", "s += x[i];"), "-O2");
	digest_of(right, SUM("x", "s += x[i];"), "-O2 -falign-loops=64 -falign-functions=128");
	assert_string_equal(left, right); /* padding is no code */
}

/* What objdump prints is hostile text: nothing but the expected is taken. */
static void test_disassembly(void **state)
{
	/* clang-format off */
	static const struct { const char *text, *message; } bad[] = {
		{ "nonsense\n", "unknown line" },
		{ "\nDisassembly of section .text.k:\n", "before the first file" },
		{ "k.o:     file format elf64-x86-64\n\nDisassembly of section .text.other:\n", "out of order" },
		{ "k.o:     file format elf64-x86-64\n   0:\tret\n", "out of order" },
		{ "k.o:     file format elf64-x86-64\nk.o:     file format elf64-x86-64\n", "more files" },
		{ "k.o:     file format elf64-x86-64\n\nDisassembly of section .text.k:\n   4:\tret\n", "does not start" },
		{ "k.o:     file format elf64-x86-64\n\nDisassembly of section .text.k:\n", "does not start" },
		{ "k.o:     file format elf64-x86-64\n\nDisassembly of section .text.k:\n   0:\tnop\n   0:\tret\n", "out of order" },
		{ "", "does not start" },
	};
	/* clang-format on */
	KL_AUTO(kl_artefact_freep) struct kl_artefact *artefact = NULL;
	KL_AUTO(kl_object_freep) struct kl_object *object = NULL;
	KL_AUTO(kl_freep) char *path = kl_fs_join(kernel.dir, "kernel/0.o");
	struct kl_code code;

	assert_ok(kernel_compile(&artefact, &kernel, "int k(int x) { return x * 3 + 1; }\n", NULL,
				 NULL));
	assert_ok(kl_object_read(&object, path));
	for (size_t i = 0; i < KL_ARRAY_SIZE(bad); i++)
		assert_error(KL_ENO, bad[i].message,
			     kl_code_parse(&code, (const struct kl_object *const *)&object, 1,
					   bad[i].text, strlen(bad[i].text)));
	assert_error(KL_ENO, "NUL",
		     kl_code_parse(&code, (const struct kl_object *const *)&object, 1, "\0", 1));
}

/* Instructions of sets that no level has: a kernel that executes them is not judged. */
static void test_no_level(void **state)
{
	static const struct {
		const char *insn, *feature;
	} rows[] = {
		{ "vpclmullqlqdq %xmm0,%xmm1,%xmm2", "clmul" },
		{ "pclmulqdq $0x7,%xmm0,%xmm1", "clmul" },
		{ "vaesenc %xmm0,%xmm1,%xmm2", "aes" },
		{ "aesimc %xmm0,%xmm1", "aes" },
		{ "sha256rnds2 %xmm0,%xmm1,%xmm2", "sha" },
		{ "sha1msg1 %xmm0,%xmm1", "sha" },
	};
	KL_AUTO(kl_artefact_freep) struct kl_artefact *artefact = NULL;
	KL_AUTO(kl_object_freep) struct kl_object *object = NULL;
	KL_AUTO(kl_freep) char *path = kl_fs_join(kernel.dir, "kernel/0.o");

	assert_ok(kernel_compile(&artefact, &kernel, "int k(int x) { return x * 3 + 1; }\n", NULL,
				 NULL));
	assert_ok(kl_object_read(&object, path));
	for (size_t i = 0; i < KL_ARRAY_SIZE(rows); i++) {
		KL_AUTO(kl_strvec_release) struct kl_strvec features = KL_STRVEC_INIT;
		KL_AUTO(kl_code_release) struct kl_code code = { 0 };
		KL_AUTO(kl_freep) char *text = kl_asprintf(
			"k.o:     file format elf64-x86-64\n\nDisassembly of section "
			".text.k:\n   0:\t%s\n   3:\tret\n",
			rows[i].insn);

		assert_ok(kl_code_parse(&code, (const struct kl_object *const *)&object, 1, text,
					strlen(text)));
		assert_ok(kl_code_reach(&code, (const char *const[]){ "k", NULL }));
		kl_code_live(&code);
		kl_code_features(&features, &code);
		if (!kl_strvec_has(&features, rows[i].feature))
			fail_msg("%s does not show %s", rows[i].insn, rows[i].feature);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_features),   cmocka_unit_test(test_no_feature),
		cmocka_unit_test(test_no_feature), cmocka_unit_test(test_digest),
		cmocka_unit_test(test_no_level),   cmocka_unit_test(test_disassembly),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
