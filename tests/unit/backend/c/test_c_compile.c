/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel.h"

#include <dlfcn.h>

#include "base/rng.h"

/* The allocator itself, under other names. */
#define malloc rt_malloc
#define free rt_free
#define calloc rt_calloc
#define realloc rt_realloc
#define aligned_alloc rt_aligned_alloc
#define posix_memalign rt_posix_memalign
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#pragma GCC diagnostic ignored "-Wshadow"
#include "../../templates/runtime/runtime.c"
#pragma GCC diagnostic pop
#undef malloc
#undef free
#undef calloc
#undef realloc
#undef aligned_alloc
#undef posix_memalign

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

static void test_platform(void **state)
{
	struct kl_platform p;

	assert_ok(kl_machine_platform(&p, "cpu/x86-64-v1"));
	assert_string_equal(p.march, "x86-64");
	assert_string_equal(p.id, "cpu/x86-64-v1");
	assert_int_equal(strncmp(p.compiler, "gcc ", 4), 0);
	assert_true(p.compiler[4] >= '1');
	assert_ok(kl_machine_platform(&p, NULL));
	assert_true(strcmp(p.id, "cpu/x86-64-v4") != 0); /* only when asked for */
	assert_error(KL_EINVALID, "unknown platform", kl_machine_platform(&p, "cpu/x86-64-v5"));
	assert_error(KL_EINVALID, "unknown platform", kl_machine_platform(&p, "cpu/x86-64-v3x"));
	assert_error(KL_EINVALID, "unknown platform", kl_machine_platform(&p, "cuda/sm_90"));
}

/* What was compiled really runs: over two files, libm, and memory from the arena. */
static void test_runs(void **state)
{
	static const char source[] =
		"#include <stdlib.h>\n#include <string.h>\n#include <math.h>\n#include <assert.h>\n"
		"float half(float x);\n"
		"int k(int n, const float *x, float *y)\n"
		"{\n"
		"	float *t = malloc(n * sizeof(*t));\n"
		"	assert(x != y);\n"
		"	if (!t)\n"
		"		return 7;\n"
		"	memcpy(t, x, n * sizeof(*t));\n"
		"	for (int i = 0; i < n; i++)\n"
		"		y[i] = half(expf(t[i]));\n"
		"	free(t);\n"
		"	return 0;\n"
		"}\n";
	static const char second[] = "float half(float x) { return x / 2; }\n";
	KL_AUTO(kl_artefact_freep) struct kl_artefact *a = NULL, *again = NULL;
	static unsigned char room[1 << 16];
	float x[3] = { 0, 1, 2 }, y[3];
	struct kl_arena *arena;
	int (*k)(int, const float *, float *);
	void *h;

	assert_ok(kernel_compile(&a, &kernel, source, second, "-O3"));
	h = dlopen(a->object, RTLD_NOW | RTLD_LOCAL);
	if (!h)
		fail_msg("%s", dlerror());
	*(void **)&k = dlsym(h, "k");
	arena = dlsym(h, "kl_rt_arena");
	assert_non_null(k);
	assert_non_null(arena);
	assert_null(dlsym(h, "half"));
	assert_int_equal(k(3, x, y), 7); /* no arena, no memory */
	arena->base = room;
	arena->size = sizeof(room);
	assert_int_equal(k(3, x, y), 0);
	assert_true(y[0] == 0.5f && y[1] > 1.359f && y[1] < 1.3592f);
	assert_int_equal(k(1 << 20, x, y), 7);
	dlclose(h);
	assert_ok(kernel_compile(&again, &kernel, source, second, "-O3"));
	assert_string_equal(a->digest, again->digest);
	assert_string_equal(a->facts.code_digest, again->facts.code_digest);
}

/* Sources that the compiler refuses, or that attack it. */
static void test_refused(void **state)
{
	/* clang-format off */
	static const struct { const char *what, *source, *message; } table[] = {
		{ "syntax", "int k(void) { return 1 }\n", "k.c:1:" },
		{ "no entry", "int other(void) { return 1; }\n", "no source defines the function 'k'" },
		{ "typing error", "int k(int a) { return colour(a); }\n", "implicit declaration of function 'colour'" },
		{ "host file", "#include \"/etc/passwd\"\nint k(void) { return 1; }\n", "/etc/passwd: " },
		{ "home", "#include \"../../../../root/.profile\"\nint k(void) { return 1; }\n", ".profile: " },
		{ "incbin", "__asm__(\".section .rodata\\n.incbin \\\"/etc/passwd\\\"\");\nint k(void) { return 1; }\n",
		  "passwd" },
		{ "include bomb", "#include \"k.c\"\n#include \"k.c\"\nint k(void) { return 1; }\n", "nested" },
		{ "data bomb", "char bomb[1 << 30] = { 1 };\nint k(int i) { return bomb[i]; }\n", "more than 64 MiB" },
		{ "error directive", "#error \"told you\"\n", "told you" },
	};
	/* clang-format on */

	for (size_t i = 0; i < KL_ARRAY_SIZE(table); i++) {
		struct kl_artefact *a = NULL;
		int err = kernel_compile(&a, &kernel, table[i].source, NULL, NULL);

		print_message("%s: %s\n", table[i].what, err ? kl_error_last() : "ACCEPTED");
		assert_int_equal(err, KL_ENO);
		assert_string_equal(kernel.class_, "compile");
		assert_contains(kl_error_last(), table[i].message);
		assert_null(strstr(kl_error_last(), "root:"));
	}
}

/* 2^32 tokens: whichever limit is met first, it ends, and says so. */
static void test_bomb(void **state)
{
	KL_AUTO(kl_buf_release) struct kl_buf b = KL_BUF_INIT;
	struct kl_artefact *a = NULL;

	kl_buf_adds(&b, "#define A0 1+1+\n");
	for (int i = 1; i < 32; i++)
		kl_buf_addf(&b, "#define A%d A%d A%d\n", i, i - 1, i - 1);
	kl_buf_adds(&b, "int k(void) { return A31 0; }\n");
	kernel.jail.compile_ms = 1500;
	assert_error(KL_ENO, "compiling 'k.c': ", kernel_compile(&a, &kernel, b.ptr, NULL, NULL));
	kernel.jail.compile_ms = 0;
	print_message("%s\n", kl_error_last());
	assert_string_equal(kernel.class_, "compile");
	assert_true(strstr(kl_error_last(), "stopped after") || strstr(kl_error_last(), "memory"));
}

/* Every level that works here compiles the same bytes, and keeps the host's files out. */
static void test_levels(void **state)
{
	static const char source[] =
		"#include <math.h>\nfloat k(float x) { return expf(x) * 2; }\n";
	static const char thief[] = "#include \"/etc/passwd\"\nint k(void) { return 1; }\n";
	struct kl_jail best = kernel.jail;
	KL_AUTO(kl_artefact_freep) struct kl_artefact *first = NULL;

	assert_ok(kernel_compile(&first, &kernel, source, NULL, NULL));
	for (int level = KL_JAIL_BWRAP; level <= KL_JAIL_NONE; level++) {
		KL_AUTO(kl_artefact_freep) struct kl_artefact *a = NULL;
		struct kl_artefact *none = NULL;
		int err = kl_jail_open(&kernel.jail, (enum kl_jail_level)level);

		if (err) {
			print_message("SKIPPED: %s\n", kl_error_last());
			assert_int_equal(err, KL_ECANNOT);
			continue;
		}
		assert_ok(kernel_compile(&a, &kernel, source, NULL, NULL));
		assert_string_equal(a->digest, first->digest);
		assert_int_equal(kernel_compile(&none, &kernel, thief, NULL, NULL), KL_ENO);
		if (level != KL_JAIL_NONE)
			assert_contains(kl_error_last(), "/etc/passwd: ");
	}
	kernel.jail = best;
}

static int compile_oracle(void)
{
	int err = kl_compile_oracle(&kernel.jail, &kernel.platform, &kernel.surface,
				    KL_ORACLE_TRUTH, kernel.dir);

	return err ? err :
		     kl_compile_oracle(&kernel.jail, &kernel.platform, &kernel.surface,
				       KL_ORACLE_HONEST, kernel.dir);
}

static void test_oracle(void **state)
{
	static const char source[] =
		"#include \"kl_oracle.h\"\n"
		"kl_real oracle(const kl_real *x)\n"
		"{ return kl_exp(x[0]) + kl_sqrt(x[1]) + kl_fma(x[0], x[1], 1) + sizeof(kl_real); }\n";
	const char *const name[] = { "truth.so", "honest.so" };

	kernel_file(&kernel.oracle[0], "oracle.c", source);
	kernel.surface.noracle = 1;
	assert_ok(compile_oracle());
	for (int i = 0; i < 2; i++) {
		KL_AUTO(kl_freep) char *so = kl_fs_join(kernel.dir, name[i]);
		void *h = dlopen(so, RTLD_NOW | RTLD_LOCAL), *f;

		assert_non_null(h);
		f = dlsym(h, "oracle");
		if (i == 0) {
			double x[2] = { 0, 4 };

			assert_true(((double (*)(const double *))f)(x) == 1 + 2 + 1 + 8);
		} else {
			float x[2] = { 0, 4 };

			assert_true(((float (*)(const float *))f)(x) == 1 + 2 + 1 + 4);
		}
		dlclose(h);
	}
	kernel_file(&kernel.oracle[0], "oracle.c", "/* KL_ORACLE_TODO */\n");
	assert_error(KL_ECANNOT, "not written yet", compile_oracle());
	kernel_file(&kernel.oracle[0], "oracle.c", "double oracle(void) { return x; }\n");
	assert_error(KL_EINVALID, "oracle.c:1:", compile_oracle());
	kernel_file(&kernel.oracle[0], "oracle.c",
		    "int system(const char *);\nint oracle(void) { return system(\"id\"); }\n");
	assert_error(KL_EINVALID, "system", compile_oracle());
}

/* ---- the allocator ---- */

#define ARENA ((size_t)1 << 20)

static void test_alloc_random(void **state)
{
	enum { N = 64 };
	unsigned char *arena = aligned_alloc(4096, ARENA), *p[N] = { 0 };
	size_t len[N] = { 0 }, align[N] = { 0 };
	struct kl_rng rng;

	kl_rng_seed(&rng, 1);
	kl_rt_arena = (struct kl_arena){ arena, ARENA };
	memset(arena, 0xa5, 4096); /* wiped with poison: as good as new */
	for (int step = 0; step < 20000; step++) {
		size_t i = kl_rng_below(&rng, N);

		if (p[i]) {
			for (size_t b = 0; b < len[i]; b++)
				assert_int_equal(p[i][b], (unsigned char)i);
			rt_free(p[i]);
			p[i] = NULL;
			continue;
		}
		len[i] = kl_rng_below(&rng, step % 7 ? 300 : 60000);
		align[i] = (size_t)16 << kl_rng_below(&rng, step % 3 ? 1 : 9);
		p[i] = align[i] == 16 ? rt_malloc(len[i]) : rt_aligned_alloc(align[i], len[i]);
		if (!p[i])
			continue;
		assert_true(p[i] >= arena && p[i] + len[i] <= arena + ARENA);
		/* exactly as aligned as promised */
		assert_int_equal((uintptr_t)p[i] % (2 * align[i]), align[i]);
		memset(p[i], (int)i, len[i]);
	}
	for (int i = 0; i < N; i++)
		rt_free(p[i]);
	/* everything coalesced again */
	p[0] = rt_malloc(ARENA - 256);
	assert_non_null(p[0]);
	assert_null(rt_malloc(1024));
	rt_free(p[0]);
	free(arena);
}

static void test_alloc_edges(void **state)
{
	unsigned char *arena = aligned_alloc(4096, ARENA), *p, *q;
	void *v = NULL;

	kl_rt_arena = (struct kl_arena){ NULL, 0 };
	assert_null(rt_malloc(1));
	kl_rt_arena = (struct kl_arena){ arena, ARENA };
	assert_null(rt_malloc(ARENA));
	assert_null(rt_malloc(SIZE_MAX));
	assert_null(rt_calloc(SIZE_MAX / 2, 4));
	assert_null(rt_aligned_alloc(24, 8));
	assert_null(rt_aligned_alloc((size_t)1 << 40, 8));
	assert_int_equal(rt_posix_memalign(&v, 3, 8), 22);
	assert_int_equal(rt_posix_memalign(&v, 64, ARENA), 12);
	assert_int_equal(rt_posix_memalign(&v, 64, 100), 0);
	assert_int_equal((uintptr_t)v % 64, 0);
	p = rt_malloc(0);
	assert_non_null(p);
	rt_free(p);
	memset(arena + 8192, 0xff, 8192);
	q = rt_calloc(1000, 8);
	for (size_t i = 0; i < 8000; i++)
		assert_int_equal(q[i], 0);
	memset(q, 7, 8000);
	q = rt_realloc(q, 20000);
	assert_int_equal(q[7999], 7);
	assert_ptr_equal(rt_realloc(q, 10), q);
	assert_null(rt_realloc(q, 0));
	rt_free(NULL);
	rt_free(v);
	p = rt_malloc(ARENA - 256);
	assert_non_null(p);
	/* the gate wipes the first page between calls: what was leaked is back */
	memset(arena, 0, 4096);
	p = rt_malloc(ARENA - 256);
	assert_non_null(p);
	free(arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_alloc_edges), cmocka_unit_test(test_alloc_random),
		cmocka_unit_test(test_platform),    cmocka_unit_test(test_runs),
		cmocka_unit_test(test_refused),     cmocka_unit_test(test_bomb),
		cmocka_unit_test(test_levels),      cmocka_unit_test(test_oracle),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
