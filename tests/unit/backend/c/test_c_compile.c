/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel.h"

#include "image_lib.h"

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
	struct kl_platform platform;

	assert_ok(kl_machine_platform(&platform, "cpu/x86-64-v1"));
	assert_string_equal(platform.march, "x86-64");
	assert_string_equal(platform.id, "cpu/x86-64-v1");
	assert_int_equal(strncmp(platform.compiler, "gcc ", 4), 0);
	assert_true(platform.compiler[4] >= '1');
	assert_ok(kl_machine_platform(&platform, NULL));
	assert_true(strcmp(platform.id, "cpu/x86-64-v4") != 0); /* only when asked for */
	assert_error(KL_EINVALID, "unknown platform",
		     kl_machine_platform(&platform, "cpu/x86-64-v5"));
	assert_error(KL_EINVALID, "unknown platform",
		     kl_machine_platform(&platform, "cpu/x86-64-v3x"));
	assert_error(KL_EINVALID, "unknown platform", kl_machine_platform(&platform, "cuda/sm_90"));
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
	KL_AUTO(kl_artefact_freep) struct kl_artefact *artefact = NULL, *again = NULL;
	static unsigned char room[1 << 16];
	float values[3] = { 0, 1, 2 }, samples[3];
	struct kl_image_mapped mapped;
	struct kl_arena *arena;
	int (*k)(int, const float *, float *);

	assert_ok(kernel_compile(&artefact, &kernel, source, second, "-O3"));
	mapped = image_load(artefact->object);
	*(void **)&k = mapped.entry;
	arena = (struct kl_arena *)mapped.arena;
	assert_non_null(arena);
	assert_int_equal(k(3, values, samples), 7); /* no arena, no memory */
	arena->base = room;
	arena->size = sizeof(room);
	assert_int_equal(k(3, values, samples), 0);
	assert_true(samples[0] == 0.5f && samples[1] > 1.359f && samples[1] < 1.3592f);
	assert_int_equal(k(1 << 20, values, samples), 7);
	kl_image_unmap(&mapped);
	assert_ok(kernel_compile(&again, &kernel, source, second, "-O3"));
	assert_string_equal(artefact->digest, again->digest);
	assert_string_equal(artefact->facts.code_digest, again->facts.code_digest);
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
		{ "missing headers", "#include \"a.h\"\n#include <sub/b.h>\nint k(void) { return 1; }\n",
		  "a.h: No such file or directory (missing in all: 'a.h', 'sub/b.h')" },
		{ "home", "#include \"../../../../root/.profile\"\nint k(void) { return 1; }\n", ".profile: " },
		{ "incbin", "__asm__(\".section .rodata\\n.incbin \\\"/etc/passwd\\\"\");\nint k(void) { return 1; }\n",
		  "passwd" },
		{ "include bomb", "#include \"k.c\"\n#include \"k.c\"\nint k(void) { return 1; }\n", "nested" },
		{ "data bomb", "char bomb[1 << 30] = { 1 };\nint k(int i) { return bomb[i]; }\n", "more than 64 MiB" },
		{ "error directive", "#error \"told you\"\n", "told you" },
	};
	/* clang-format on */

	for (size_t i = 0; i < KL_ARRAY_SIZE(table); i++) {
		struct kl_artefact *artefact = NULL;
		int err = kernel_compile(&artefact, &kernel, table[i].source, NULL, NULL);

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
	KL_AUTO(kl_buf_release) struct kl_buf buf = KL_BUF_INIT;
	struct kl_artefact *artefact = NULL;

	kl_buf_adds(&buf, "#define A0 1+1+\n");
	for (int i = 1; i < 32; i++)
		kl_buf_addf(&buf, "#define A%d A%d A%d\n", i, i - 1, i - 1);
	kl_buf_adds(&buf, "int k(void) { return A31 0; }\n");
	kernel.jail.compile_ms = 1500;
	assert_error(KL_ENO,
		     "compiling 'k.c': ", kernel_compile(&artefact, &kernel, buf.ptr, NULL, NULL));
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
		KL_AUTO(kl_artefact_freep) struct kl_artefact *artefact = NULL;
		struct kl_artefact *none = NULL;
		int err = kl_jail_open(&kernel.jail, (enum kl_jail_level)level);

		if (err) {
			print_message("SKIPPED: %s\n", kl_error_last());
			assert_int_equal(err, KL_ECANNOT);
			continue;
		}
		assert_ok(kernel_compile(&artefact, &kernel, source, NULL, NULL));
		assert_string_equal(artefact->digest, first->digest);
		assert_int_equal(kernel_compile(&none, &kernel, thief, NULL, NULL), KL_ENO);
		if (level != KL_JAIL_NONE)
			assert_contains(kl_error_last(), "/etc/passwd: ");
	}
	kernel.jail = best;
}

static int compile_oracle(void)
{
	int err = kl_compile_oracle(&kernel.tools, &kernel.surface, KL_ORACLE_TRUTH, kernel.dir);

	return err ? err :
		     kl_compile_oracle(&kernel.tools, &kernel.surface, KL_ORACLE_HONEST,
				       kernel.dir);
}

static void test_oracle(void **state)
{
	static const char source[] =
		"#include \"kl_oracle.h\"\n"
		"kl_real oracle(const kl_real *x)\n"
		"{ return kl_exp(x[0]) + kl_sqrt(x[1]) + kl_fma(x[0], x[1], 1) + sizeof(kl_real); }\n";
	const char *const name[] = { "truth.image", "honest.image" };

	kernel_file(&kernel.oracle[0], "oracle.c", source);
	kernel.surface.noracle = 1;
	assert_ok(compile_oracle());
	for (int i = 0; i < 2; i++) {
		KL_AUTO(kl_freep) char *path = kl_fs_join(kernel.dir, name[i]);
		struct kl_image_mapped mapped = image_load(path);
		void *data = mapped.entry;

		if (i == 0) {
			double values[2] = { 0, 4 };

			assert_true(((double (*)(const double *))data)(values) == 1 + 2 + 1 + 8);
		} else {
			float samples[2] = { 0, 4 };

			assert_true(((float (*)(const float *))data)(samples) == 1 + 2 + 1 + 4);
		}
		kl_image_unmap(&mapped);
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
	unsigned char *arena = aligned_alloc(4096, ARENA), *bytes[N] = { 0 };
	size_t len[N] = { 0 }, align[N] = { 0 };
	struct kl_rng rng;

	kl_rng_seed(&rng, 1);
	kl_rt_arena = (struct kl_arena){ arena, ARENA };
	memset(arena, 0xa5, 4096); /* wiped with poison: as good as new */
	for (int step = 0; step < 20000; step++) {
		size_t i = kl_rng_below(&rng, N);

		if (bytes[i]) {
			for (size_t second = 0; second < len[i]; second++)
				assert_int_equal(bytes[i][second], (unsigned char)i);
			rt_free(bytes[i]);
			bytes[i] = NULL;
			continue;
		}
		len[i] = kl_rng_below(&rng, step % 7 ? 300 : 60000);
		align[i] = (size_t)16 << kl_rng_below(&rng, step % 3 ? 1 : 9);
		bytes[i] = align[i] == 16 ? rt_malloc(len[i]) : rt_aligned_alloc(align[i], len[i]);
		if (!bytes[i])
			continue;
		assert_true(bytes[i] >= arena && bytes[i] + len[i] <= arena + ARENA);
		/* exactly as aligned as promised */
		assert_int_equal((uintptr_t)bytes[i] % (2 * align[i]), align[i]);
		memset(bytes[i], (int)i, len[i]);
	}
	for (int i = 0; i < N; i++)
		rt_free(bytes[i]);
	/* everything coalesced again */
	bytes[0] = rt_malloc(ARENA - 256);
	assert_non_null(bytes[0]);
	assert_null(rt_malloc(1024));
	rt_free(bytes[0]);
	free(arena);
}

static void test_alloc_edges(void **state)
{
	unsigned char *arena = aligned_alloc(4096, ARENA), *data, *bytes;
	void *value = NULL;

	kl_rt_arena = (struct kl_arena){ NULL, 0 };
	assert_null(rt_malloc(1));
	kl_rt_arena = (struct kl_arena){ arena, ARENA };
	assert_null(rt_malloc(ARENA));
	assert_null(rt_malloc(SIZE_MAX));
	assert_null(rt_calloc(SIZE_MAX / 2, 4));
	assert_null(rt_aligned_alloc(24, 8));
	assert_null(rt_aligned_alloc((size_t)1 << 40, 8));
	assert_int_equal(rt_posix_memalign(&value, 3, 8), 22);
	assert_int_equal(rt_posix_memalign(&value, 64, ARENA), 12);
	assert_int_equal(rt_posix_memalign(&value, 64, 100), 0);
	assert_int_equal((uintptr_t)value % 64, 0);
	data = rt_malloc(0);
	assert_non_null(data);
	rt_free(data);
	memset(arena + 8192, 0xff, 8192);
	bytes = rt_calloc(1000, 8);
	for (size_t i = 0; i < 8000; i++)
		assert_int_equal(bytes[i], 0);
	memset(bytes, 7, 8000);
	bytes = rt_realloc(bytes, 20000);
	assert_int_equal(bytes[7999], 7);
	assert_ptr_equal(rt_realloc(bytes, 10), bytes);
	assert_null(rt_realloc(bytes, 0));
	rt_free(NULL);
	rt_free(value);
	data = rt_malloc(ARENA - 256);
	assert_non_null(data);
	/* the gate wipes the first page between calls: what was leaked is back */
	memset(arena, 0, 4096);
	data = rt_malloc(ARENA - 256);
	assert_non_null(data);
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
