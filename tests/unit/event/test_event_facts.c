/* SPDX-License-Identifier: Apache-2.0 */
#include "test.h"

#include "base/fs.h"
#include "base/mem.h"
#include "event/facts.h"

static struct kl_mechanisms mechanisms;
static char *dir;

static int setup(void **state)
{
	assert_ok(kl_mechanisms_load(&mechanisms, KL_SOURCE "/templates/mechanisms.yaml"));
	assert_ok(kl_fs_tempdir(&dir, "kl-facts"));
	return 0;
}

static int teardown(void **state)
{
	kl_mechanisms_release(&mechanisms);
	kl_fs_tempdir_cleanup(&dir);
	return 0;
}

/* What a list does not have yet is neither gained nor lost against it. */
static void test_versions(void **state)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec old = KL_STRVEC_INIT, now = KL_STRVEC_INIT,
						    minus = KL_STRVEC_INIT;

	kl_strvec_split(&old, "gather vec.256", " ");
	kl_strvec_split(&now,
			"accumulators accumulators.4 mul.wide pointer.crc32 pointer.sqrt vec.256",
			" ");
	kl_features_minus(&minus, &now, &old, 1);
	assert_int_equal(minus.n, 1);
	assert_string_equal(minus.v[0], "pointer.sqrt");
	kl_strvec_release(&minus);
	kl_features_minus(&minus, &now, &old, KL_FEATURES_VERSION);
	assert_int_equal(minus.n, 5);
	kl_strvec_release(&minus);
	kl_features_minus(&minus, &old, &now, KL_FEATURES_VERSION);
	assert_int_equal(minus.n, 1);
}

static void make(struct kl_facts *facts, const char *features, const char *traits,
		 const char *digest)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec list = KL_STRVEC_INIT;

	*facts = (struct kl_facts){ .traits = { .free_value = free },
				    .features_version = KL_FEATURES_VERSION };
	kl_strvec_split(&facts->features, features, " ");
	kl_strvec_sort(&facts->features);
	kl_strvec_split(&list, traits, " ");
	for (size_t i = 0; i < list.n; i++) {
		char *eq = strchr(list.v[i], '=');

		*eq = '\0';
		kl_map_put(&facts->traits, list.v[i], kl_strdup(eq + 1));
	}
	snprintf(facts->code_digest, sizeof(facts->code_digest), "%s", digest);
}

static void test_judge(void **state)
{
	static const struct {
		const char *mechanism, *before, *before_traits, *after, *after_traits;
		enum kl_delta want;
		const char *why;
	} table[] = {
		{ "prefetch", "prefetch vec.256", "", "vec.256", "", KL_DELTA_CLEAN,
		  "gone: prefetch" },
		{ "prefetch", "prefetch vec.256", "", "prefetch vec.256", "", KL_DELTA_UNMOVED,
		  "still there: prefetch" },
		/* the other facts may disappear, but the step removed no fact of its mechanism */
		{ "fma", "avx2.fma spill", "", "avx2.fma", "", KL_DELTA_UNMOVED,
		  "still there: avx2.fma" },
		{ "prefetch", "spill", "", "", "", KL_DELTA_UNMOVED, "no primary fact" },
		{ "prefetch", "prefetch vec.256 loop.depth.4", "", "vec.256 loop.depth.3", "",
		  KL_DELTA_CLEAN, "gone" },
		{ "prefetch", "prefetch vec.256", "", "", "", KL_DELTA_COMPOUND, "lost vec.256" },
		{ "prefetch", "prefetch", "", "alloc", "", KL_DELTA_COMPOUND, "gained alloc" },
		{ "vector-loop", "vec.256 avx2.fma broadcast", "", "fma.scalar call.memset", "",
		  KL_DELTA_CLEAN, "gone: vec.256" },
		{ "vector-loop", "vec.256 prefetch", "", "", "", KL_DELTA_COMPOUND,
		  "lost prefetch" },
		{ "vector-loop", "vec.256", "", "gather", "", KL_DELTA_COMPOUND, "gained gather" },
		{ "cache-block", "vec.256", "tiled=yes", "vec.256", "tiled=no", KL_DELTA_CLEAN,
		  "gone: trait:tiled" },
		{ "cache-block", "vec.256", "tiled=yes", "vec.256", "tiled=unknown", KL_DELTA_CLEAN,
		  "gone: trait:tiled" },
		{ "cache-block", "", "tiled=yes packed=yes", "", "tiled=no packed=no",
		  KL_DELTA_COMPOUND, "lost trait:packed" },
		/* not claimed before */
		{ "cache-block", "", "tiled=yes", "", "tiled=no fused=yes", KL_DELTA_CLEAN, "" },
		{ "cache-block", "", "tiled=yes fused=no", "", "tiled=no fused=yes",
		  KL_DELTA_COMPOUND, "gained trait:fused" },
		/* no claim, no loss */
		{ "cache-block", "", "tiled=yes", "", "", KL_DELTA_UNMOVED, "no primary fact" },
		{ NULL, "vec.256", "", "", "", KL_DELTA_COMPOUND, "lost vec.256" },
		{ NULL, "vec.256", "", "vec.256", "", KL_DELTA_UNMOVED, "no primary fact" },
		/* integer work */
		{ "madd", "madd vec.256", "", "vec.256 convert", "", KL_DELTA_CLEAN, "gone: madd" },
		{ "crc-instruction", "crc32", "", "table", "", KL_DELTA_CLEAN, "gone: crc32" },
		{ "crc-instruction", "crc32 madd", "", "table", "", KL_DELTA_COMPOUND,
		  "lost madd" },
		{ "interleaved-streams", "accumulators accumulators.4", "", "", "", KL_DELTA_CLEAN,
		  "gone: accumulators" },
		{ "prefetch", "prefetch accumulators accumulators.4", "",
		  "accumulators accumulators.2", "", KL_DELTA_CLEAN, "gone: prefetch" },
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(table); i++) {
		KL_AUTO(kl_facts_release) struct kl_facts left = { 0 }, right = { 0 };
		KL_AUTO(kl_buf_release) struct kl_buf why = KL_BUF_INIT;
		const struct kl_mechanism *other = NULL;
		enum kl_delta got;

		if (table[i].mechanism) {
			other = kl_mechanisms_find(&mechanisms, table[i].mechanism);
			assert_non_null(other);
		}
		make(&left, table[i].before, table[i].before_traits, "1");
		make(&right, table[i].after, table[i].after_traits, "2");
		got = kl_facts_judge(&why, other, &left, &right);
		if (got != table[i].want || !strstr(why.ptr, table[i].why))
			fail_msg("row %zu: %d '%s'", i, got, why.ptr);
		kl_buf_clear(&why);
		strcpy(right.code_digest, "1");
		assert_int_equal(kl_facts_judge(&why, other, &left, &right), KL_DELTA_NO_CHANGE);
		assert_contains(why.ptr, "the same");
	}
}

static void test_minus(void **state)
{
	KL_AUTO(kl_facts_release) struct kl_facts left = { 0 }, right = { 0 };
	KL_AUTO(kl_strvec_release) struct kl_strvec list = KL_STRVEC_INIT;

	make(&left, "x y z", "", "1");
	make(&right, "y", "", "2");
	kl_strvec_minus(&list, &left.features, &right.features);
	assert_int_equal(list.n, 2);
	assert_string_equal(list.v[0], "x");
	assert_string_equal(list.v[1], "z");
}

/* Every pattern of the shipped file can match a feature that exists, or a trait. */
static void test_shipped(void **state)
{
	static const char known[] =
		" vec.128 vec.256 vec.512 fma.scalar avx2.fma gather scatter prefetch nt-store nt-load shuffle compress broadcast"
		" movmask blend masked popcnt bmi madd sad mul.wide crc32 clmul table-shuffle accumulators div idiv sqrt approx convert x87 atomic rep alloc call.* call.mem* call.__*"
		" call._ZGV* call.indirect recursion loop.depth.* jump-table table static-data spill stack.large"
		" ldg.128 ldg.256 stg.128 stg.256 lds.128 sts.128 cp.async tma.load tma.store multicast tensormap mbarrier"
		" fence.proxy ldmatrix stmatrix mma mma.bf16 mma.f16 mma.tf32 wgmma wgmma.bf16 wgmma.f16 wgmma.tf32 tf32"
		" fma.f32 tma.im2col bulk.* pdl cooperative kernels ex2.approx lg2.approx setmaxnreg cluster prepare shfl vote ballot redux elect atom.shared atom.global smem bar local ";

	assert_true(mechanisms.n >= 30);
	assert_null(kl_mechanisms_find(&mechanisms, "no-such"));
	for (size_t i = 0; i < mechanisms.n; i++) {
		const struct kl_mechanism *mechanism = &mechanisms.m[i];
		const struct kl_strvec *list[] = { &mechanism->primary, &mechanism->companions,
						   &mechanism->fallbacks };

		assert_ptr_equal(kl_mechanisms_find(&mechanisms, mechanism->name), mechanism);
		for (size_t k = 0; k < 3; k++) {
			for (size_t n = 0; n < list[k]->n; n++) {
				KL_AUTO(kl_freep) char *word = kl_asprintf(" %s ", list[k]->v[n]);

				if (strncmp(list[k]->v[n], "trait:", 6) && !strstr(known, word))
					fail_msg("%s: '%s' is no feature", mechanism->name,
						 list[k]->v[n]);
			}
		}
	}
}

static void test_nearest(void **state)
{
	static const struct {
		const char *name, *want;
	} row[] = {
		{ "restict", "restrict" },   { "prefetch", "prefetch" }, { "unrol", "unroll" },
		{ "vector", "vector-loop" }, { "zzzzzzzzzz", "" },
	};

	for (size_t i = 0; i < KL_ARRAY_SIZE(row); i++) {
		KL_AUTO(kl_strvec_release) struct kl_strvec near = KL_STRVEC_INIT;

		kl_mechanisms_nearest(&near, &mechanisms, row[i].name);
		assert_true(near.n <= 3);
		assert_int_equal(near.n > 0, *row[i].want != 0);
		if (near.n && !kl_strvec_has(&near, row[i].want))
			fail_msg("%s: %s", row[i].name, near.v[0]);
	}
}

static void test_malformed(void **state)
{
	/* clang-format off */
	static const struct { const char *text, *message; } table[] = {
		{ "mechanisms: {}\n", "'klineage-mechanisms' is missing in the file" },
		{ "klineage-mechanisms: 2\nmechanisms: {}\n", ":1:" },
		{ "klineage-mechanisms: 1\n", "'mechanisms' is missing in the file" },
		{ "klineage-mechanisms: 1\nmechanisms: {}\nmore: 1\n", "unknown key 'more'" },
		{ "klineage-mechanisms: 1\nmechanisms:\n  Bad Name: {text: a, action: b, primary: [c]}\n", "'Bad Name' is not a valid name" },
		{ "klineage-mechanisms: 1\nmechanisms:\n  a: {text: a, action: b}\n", "'primary' is missing in a mechanism" },
		{ "klineage-mechanisms: 1\nmechanisms:\n  a: {text: a, action: b, primary: []}\n", "'primary' has no entry" },
		{ "klineage-mechanisms: 1\nmechanisms:\n  a: {text: a, action: b, primary: c}\n", "3:" },
		{ "klineage-mechanisms: 1\nmechanisms:\n  a: {text: a, action: b, primary: [c d]}\n", "a fact or a pattern of facts" },
		{ "klineage-mechanisms: 1\nmechanisms:\n  a: {text: a, action: b, primary: [c], colour: red}\n", "unknown key 'colour'" },
		{ "klineage-mechanisms: 1\nmechanisms:\n  a: {text: a, action: b, primary: [c], incidental: [d]}\n", "'d' is in 'incidental' but not in 'primary'" },
		{ "klineage-mechanisms: 1\nmechanisms:\n  a: [1]\n", "a mechanism must be a map" },
		{ "- 1\n", "the file must be a map" },
	};
	/* clang-format on */
	KL_AUTO(kl_freep) char *path = kl_fs_join(dir, "m.yaml");
	struct kl_mechanisms other = { 0 };

	for (size_t i = 0; i < KL_ARRAY_SIZE(table); i++) {
		assert_ok(kl_fs_put(path, table[i].text, strlen(table[i].text), 0644));
		assert_error(KL_EINVALID, table[i].message, kl_mechanisms_load(&other, path));
		assert_null(other.m);
	}
	assert_error(KL_ENOTFOUND, "m2.yaml", kl_mechanisms_load(&other, "m2.yaml"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_judge),    cmocka_unit_test(test_minus),
		cmocka_unit_test(test_versions), cmocka_unit_test(test_shipped),
		cmocka_unit_test(test_nearest),  cmocka_unit_test(test_malformed),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
