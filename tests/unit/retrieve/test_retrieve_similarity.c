/* SPDX-License-Identifier: Apache-2.0 */
/* The shipped tables, and similarities against values worked out by hand. */
#include <math.h>

#include "base/fs.h"
#include "base/rng.h"
#include "plan/plan.h"
#include "retrieve/similarity.h"
#include "scratch.h"

static struct kl_taxonomy *tax;

static int setup(void **state)
{
	assert_int_equal(scratch_setup(state), 0);
	assert_ok(kl_taxonomy_load(&tax));
	return 0;
}

static int teardown(void **state)
{
	kl_taxonomy_free(tax);
	return scratch_teardown(state);
}

static struct kl_case make(const char *op, const char *dtype, const char *dims)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec words = KL_STRVEC_INIT;
	struct kl_case other;

	kl_case_init(&other, tax, op, dtype);
	kl_strvec_split(&words, dims, " =");
	for (size_t i = 0; i + 1 < words.n; i += 2)
		kl_case_dim(&other, tax, words.v[i], atoll(words.v[i + 1]));
	return other;
}

static void test_operators(void **state)
{
	/* clang-format off */
	static const struct { const char *a, *b; int64_t ppm; } row[] = {
		{ "gemm", "gemm", 1000000 },
		{ "gemm", "sgemm", 1000000 },		/* another name of it */
		{ "attention", "fmha", 1000000 },
		{ "gemm", "batched-gemm", 750000 },	/* 2*3 / (4+4): matmul is at 3 */
		{ "gemm", "conv2d", 500000 },		/* 2*2 / (4+4): contraction */
		{ "gemm", "attention", 571429 },	/* 2*2 / (4+3) */
		{ "matmul", "gemm", 857143 },		/* 2*3 / (3+4) */
		{ "gemm", "topk", 285714 },		/* 2*1 / (4+3): the root */
		{ "gated-delta-net", "chunk-delta-rule", 800000 },	/* 2*4 / (5+5) */
		{ "gated-delta-net", "chunk-cumsum", 444444 },		/* 2*2 / (5+4) */
		{ "gemm", "no-such-op", 333333 },	/* 2*1 / (4+2) */
		{ "no-such-op", "no-such-op", 1000000 },
		{ "no-such-op", "nor-this", 500000 },
	};
	/* clang-format on */

	for (size_t i = 0; i < KL_ARRAY_SIZE(row); i++) {
		struct kl_case left = make(row[i].a, "f32", ""), right = make(row[i].b, "f32", "");

		if (kl_similarity_operator(tax, &left, &right) != row[i].ppm ||
		    kl_similarity_operator(tax, &right, &left) != row[i].ppm)
			fail_msg("%s, %s: %lld", row[i].a, row[i].b,
				 (long long)kl_similarity_operator(tax, &left, &right));
	}
}

static void test_extents(void **state)
{
	struct kl_case left = make("gemm", "f32", "M=1024 N=1024 K=1024");
	struct kl_case right = make("gemm", "f32", "M=4096 N=4096 K=4096");
	struct kl_case other = make("gemm", "f32", "M=1024 N=1024 K=4096");
	struct kl_case conv = make("conv2d", "f32", "N=1 H=32 W=32 C=64 F=128 R=4 S=4 pad=1");
	struct kl_case flat = make("gemm", "f32", "M=1 N=1 K=1");

	assert_int_equal(kl_similarity_extents(&left, &left), 1000000);
	assert_int_equal(kl_similarity_extents(&left, &right), 367879); /* each 2 apart: exp(-1) */
	assert_int_equal(kl_similarity_extents(&left, &other), 716531); /* mean 2/3: exp(-1/3) */
	/* rows 10 and 10, cols 10 and 7, reduction 10 and 6, window 0 and 4: exp(-11/4/2) */
	assert_int_equal(kl_similarity_extents(&left, &conv), llround(1e6 * exp(-11.0 / 8)));
	assert_int_equal(kl_similarity_extents(&conv, &left), kl_similarity_extents(&left, &conv));
	assert_int_equal(kl_similarity_extents(&flat, &flat), 1000000);
	/* S is both rows and reduction of attention */
	conv = make("attention", "f16", "B=2 S=1024 H=4 D=64");
	assert_true(fabs(conv.log2[kl_taxonomy_role(tax, "batch")] - 3) < 1e-12);
	assert_true(fabs(conv.log2[kl_taxonomy_role(tax, "rows")] - 10) < 1e-12);
	assert_true(fabs(conv.log2[kl_taxonomy_role(tax, "reduction")] - 10) < 1e-12);
	assert_true(fabs(conv.log2[kl_taxonomy_role(tax, "cols")] - 6) < 1e-12);
	/* an operator nobody knows: all dims are rows */
	conv = make("no-such-op", "f16", "B=2 S=1024");
	assert_true(fabs(conv.log2[kl_taxonomy_role(tax, "rows")] - 11) < 1e-12);
}

static void test_case(void **state)
{
	struct kl_case left = make("gemm", "f32", "M=1024 N=1024 K=1024");
	struct kl_case right = make("gemm", "bf16", "M=4096 N=4096 K=4096");
	struct kl_case other = make("gemm", "f16", "M=4096 N=4096 K=4096");

	assert_int_equal(kl_similarity_case(tax, &left, &left), 1000000);
	assert_int_equal(kl_similarity_dtype(&left, &right), 0);
	assert_int_equal(kl_similarity_dtype(&other, &right), 500000);
	assert_int_equal(kl_similarity_case(tax, &left, &right), 610363); /* 0.5 + 0.3 * 0.367879 */
	assert_int_equal(kl_similarity_case(tax, &other, &right), 900000); /* 0.5 + 0.3 + 0.1 */
}

static void test_languages(void **state)
{
	/* clang-format off */
	static const struct { const char *a, *b; int64_t ppm; } row[] = {
		{ "cuda", "cuda", 1000000 }, { "triton", "tilelang", 700000 }, { "cuda", "cute", 600000 },
		{ "cuda", "triton", 400000 }, { "cuda", "tilelang", 400000 }, { "c", "cuda", 200000 },
		{ "c", "triton", 200000 }, { "c", "fortran", 0 }, { "fortran", "fortran", 1000000 },
	};
	/* clang-format on */

	for (size_t i = 0; i < KL_ARRAY_SIZE(row); i++) {
		assert_int_equal(kl_similarity_language(tax, row[i].a, row[i].b), row[i].ppm);
		assert_int_equal(kl_similarity_language(tax, row[i].b, row[i].a), row[i].ppm);
	}
}

/* over a small table of its own, so that the sets can be counted here */
static void test_platforms(void **state)
{
	KL_AUTO(kl_taxonomy_freep) struct kl_taxonomy *taxonomy = NULL;
	KL_AUTO(kl_freep) char *dir = scratch_dir("tables");
	const struct kl_tax_platform *platform;
	int64_t number[2];

	sh(dir, "cp \"%s\"/templates/operators.yaml \"%s\"/templates/languages.yaml .", KL_SOURCE,
	   KL_SOURCE);
	sh(dir,
	   "printf '%%s\\n' 'klineage-capabilities: 1' 'capabilities: {a: x, b: x, c: x, d: x}' 'platforms:' "
	   "'  one: {has: [a, b, c], numbers: {n: 1, m: 2}}' '  two: {like: one, has: [d], without: [a], numbers: {n: 3}}' "
	   "'  far: {has: [d]}' >capabilities.yaml");
	assert_ok(kl_taxonomy_load_dir(&taxonomy, dir));
	assert_int_equal(kl_similarity_platform(taxonomy, "one", "one"), 1000000);
	/* b c of a b c d */
	assert_int_equal(kl_similarity_platform(taxonomy, "one", "two"), 500000);
	assert_int_equal(kl_similarity_platform(taxonomy, "two", "far"), 333333);
	assert_int_equal(kl_similarity_platform(taxonomy, "one", "far"), 0);
	assert_int_equal(kl_similarity_platform(taxonomy, "one", "unlisted"), 0);
	assert_int_equal(kl_similarity_platform(taxonomy, "unlisted", "unlisted"), 1000000);
	platform = kl_taxonomy_platform(taxonomy, "two");
	assert_int_equal(platform->numbers.n, 2);
	assert_true(kl_card_dims_get(&number[0], &platform->numbers, "n"));
	assert_true(kl_card_dims_get(&number[1], &platform->numbers, "m"));
	assert_int_equal(number[0], 3);
	assert_int_equal(number[1], 2);
	assert_true(strcmp(taxonomy->digest, tax->digest) != 0);
}

static void test_score(void **state)
{
	/* (1/2 * 1 * 1/4 * 1/2) ^ 1/4 = 1/2; of 3 trials 2 passed: 3/5 */
	assert_int_equal(kl_similarity_score(0.5 * 1 * 0.25 * 0.5, 2, 3), 300000);
	assert_int_equal(kl_similarity_score(0.5 * 1 * 0.25 * 0.5, 0, 0), 250000);
	assert_int_equal(kl_similarity_score(0, 2, 3), 0);
	assert_int_equal(kl_similarity_score(1, 3, 3), 800000);
}

/* what the shipped tables must say of each other and of the rest of the tree */
static void test_shipped(void **state)
{
	static const char *const platforms[] = { "sm_75", "sm_80",  "sm_86",  "sm_87",  "sm_89",
						 "sm_90", "sm_100", "sm_103", "sm_120", "sm_121" };
	struct kl_plan_facts facts;
	char name[32];

	for (size_t i = 0; i < KL_ARRAY_SIZE(platforms); i++) {
		snprintf(name, sizeof(name), "cuda/%s", platforms[i]);
		assert_ok(kl_plan_arch_facts(&facts, platforms[i]));
		assert_non_null(kl_taxonomy_platform(tax, name));
	}
	for (int value = 1; value <= 4; value++) {
		snprintf(name, sizeof(name), "cpu/x86-64-v%d", value);
		assert_non_null(kl_taxonomy_platform(tax, name));
	}
	assert_true(kl_capset_has(&kl_taxonomy_platform(tax, "cuda/sm_90")->has,
				  kl_taxonomy_cap(tax, "wgmma")));
	assert_false(kl_capset_has(&kl_taxonomy_platform(tax, "cuda/sm_120")->has,
				   kl_taxonomy_cap(tax, "wgmma")));
	assert_false(kl_capset_has(&kl_taxonomy_platform(tax, "cuda/sm_75")->has,
				   kl_taxonomy_cap(tax, "cp.async")));
	/* far, but not nothing: a card of one can be of use to the other */
	assert_in_range(kl_similarity_platform(tax, "cpu/x86-64-v3", "cuda/sm_90"), 50000, 300000);
	assert_in_range(kl_similarity_platform(tax, "cuda/sm_80", "cuda/sm_90"), 500000, 900000);
	/* every template's operator is in the tree, and each of its large dims counts */
	assert_sh(
		"", KL_SOURCE,
		"sed -n 's/^case: {op: \\([a-z0-9-]*\\),.*/\\1/p' templates/workloads/*/klineage.yaml | "
		"sort -u | while read -r op; do grep -qE \"^  $op:|aka: .*\\b$op\\b\" templates/operators.yaml || echo $op; done");
}

static void test_bad(void **state)
{
	/* clang-format off */
	static const struct { const char *file, *text, *says; } bad[] = {
		{ "operators.yaml", "klineage-operators: 2\nroles: {a: b}\noperators: {x: {text: y}}", "1:21" },
		{ "operators.yaml", "klineage-operators: 1\nroles: {a: b}\noperators: {x: {text: y, under: z}}", "unknown operator 'z'" },
		{ "operators.yaml", "klineage-operators: 1\nroles: {a: b}\noperators: {x: {text: y}, z: {text: y, aka: [x]}}", "duplicate name 'x'" },
		{ "operators.yaml", "klineage-operators: 1\nroles: {a: b}\noperators: {x: {text: y, dims: {M: [q]}}}", "unknown role 'q'" },
		{ "languages.yaml", "klineage-languages: 1\nlanguages: {c: x}\npairs: [{of: [c, d], similarity: 0.5}]", "unknown language 'd'" },
		{ "languages.yaml", "klineage-languages: 1\nlanguages: {c: x, d: y}\npairs: [{of: [c, d], similarity: 1.5}]", "similarity" },
		{ "capabilities.yaml", "klineage-capabilities: 1\ncapabilities: {a: x}\nplatforms: {p: {has: [b]}}", "unknown capability 'b'" },
		{ "capabilities.yaml", "klineage-capabilities: 1\ncapabilities: {a: x}\nplatforms: {p: {without: [a]}}", "already absent" },
		{ "capabilities.yaml", "klineage-capabilities: 1\ncapabilities: {a: x}\nplatforms: {p: {like: q}}", "unknown platform 'q'" },
		{ "capabilities.yaml", "klineage-capabilities: 1\ncapabilities: {a: x}\nplatforms: {p: {wants: q}}", "unknown key" },
	};
	/* clang-format on */

	for (size_t i = 0; i < KL_ARRAY_SIZE(bad); i++) {
		KL_AUTO(kl_taxonomy_freep) struct kl_taxonomy *taxonomy = NULL;
		KL_AUTO(kl_freep) char *dir = scratch_dir("bad");
		KL_AUTO(kl_freep) char *path = kl_fs_join(dir, bad[i].file);

		sh(dir, "cp \"%s\"/templates/*.yaml .", KL_SOURCE);
		assert_ok(kl_fs_put(path, bad[i].text, strlen(bad[i].text), 0644));
		assert_error(KL_EINVALID, bad[i].says, kl_taxonomy_load_dir(&taxonomy, dir));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_operators), cmocka_unit_test(test_extents),
		cmocka_unit_test(test_case),      cmocka_unit_test(test_languages),
		cmocka_unit_test(test_platforms), cmocka_unit_test(test_score),
		cmocka_unit_test(test_shipped),   cmocka_unit_test(test_bad),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
