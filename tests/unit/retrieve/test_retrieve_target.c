/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of a target, from its contract, its events and its history. */
#include "event_lib.h"
#include "skill_lib.h"

static void test_target(void **state)
{
	/* clang-format off */
	static const struct { const char *test; bool everywhere; enum kl_truth want; } row[] = {
		{ "M == 1024 && op == 'gemm' && dtype == 'f32' && language == 'c'", false, KL_TRUE },
		{ "M == 1024", true, KL_FALSE },		/* not at the points of `also` */
		{ "M >= 1 && K >= 8", true, KL_TRUE },
		{ "extent(reduction) == K && extent(rows) == M", true, KL_TRUE },
		{ "extent(scan) == 1", false, KL_UNKNOWN },
		{ "stride_bytes(A, M) == 4 * K && stride_bytes(A, K) == 4", true, KL_TRUE },
		{ "bytes(C) == 4 * M * N", true, KL_TRUE },
		{ "pitch_bytes(A) == 4 * K && elements(C) == M * N", true, KL_TRUE },
		{ "pitch_bytes(A) == 4096", true, KL_FALSE },	/* at the points of `also`, too */
		{ "BM == 64 && KC == 256", true, KL_TRUE },	/* the first of a name */
		{ "F == 3", false, KL_UNKNOWN }, { "E == 1", false, KL_UNKNOWN },
		{ "HEADS == 3 && WORDS == 16 && LESS == -2", true, KL_TRUE },	/* whatever stands behind them */
		{ "MR == 6 && NR == 16", true, KL_TRUE }, { "RUNS == 32 && STAGES == 4", true, KL_TRUE },
		/* what must be computed, a mask, what is commented out or is of one function alone */
		{ "AREA > 0", false, KL_UNKNOWN }, { "REST > 0", false, KL_UNKNOWN }, { "SUM > 0", false, KL_UNKNOWN },
		{ "LOW < 0", false, KL_UNKNOWN }, { "MASK > 0", false, KL_UNKNOWN }, { "HUGE > 0", false, KL_UNKNOWN },
		{ "NOT > 0", false, KL_UNKNOWN }, { "NOR > 0", false, KL_UNKNOWN }, { "local > 0", false, KL_UNKNOWN },
		{ "vector_bytes == 32 && cap('vec.256') && !cap('vec.512')", true, KL_TRUE },
		{ "has('fma')", false, KL_UNKNOWN },		/* nobody measured it */
		{ "smem_optin > 0", false, KL_UNKNOWN },
		{ "this is no predicate", false, KL_UNKNOWN },
	};
	/* clang-format on */
	KL_AUTO(kl_target_release) struct kl_target other = target("cpu/x86-64-v3"),
						    other_target = target("cuda/sm_90");

	for (size_t i = 0; i < KL_ARRAY_SIZE(row); i++)
		if (kl_target_test(&other, row[i].test, row[i].everywhere, NULL) != row[i].want)
			fail_msg("%s: not %s", row[i].test, kl_truth_name(row[i].want));
	assert_string_equal(other.dtype, "f32");
	assert_int_equal(
		kl_target_test(&other_target,
			       "smem_optin == 232448 && cc == 90 && warp == 32 && cap('wgmma')",
			       true, NULL),
		KL_TRUE);
	/* asking at other points leaves the case as it was */
	assert_int_equal(kl_target_test(&other, "M == 1024", false, NULL), KL_TRUE);
}

static void test_of_commit(void **state)
{
	KL_AUTO(kl_freep) char *dir = scratch_dir("commit");
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	KL_AUTO(kl_surface_freep) struct kl_surface *surface = NULL;
	KL_AUTO(kl_target_release) struct kl_target target = { .known = KL_KNOWN_INIT },
						    other = { .known = KL_KNOWN_INIT };
	KL_AUTO(kl_buf_release) struct kl_buf line = KL_BUF_INIT;
	KL_AUTO(kl_freep) char *path = kl_fs_join(dir, "k/klineage.yaml");
	KL_AUTO(kl_freep) char *note = kl_fs_join(dir, "note");
	json_t *entry;
	git_oid head, tree;

	sh(dir,
	   "git init -q -b main . && mkdir k && echo 'int x;' >k/sgemm.c && echo 'int y;' >k/oracle.c");
	assert_ok(kl_fs_put(path, sgemm, strlen(sgemm), 0644));
	sh(dir,
	   "git add . && git commit -q -m first && echo 'int xx;' >>k/sgemm.c && git commit -q -a "
	   "-m 'tile it' -m 'Klineage-Trait: tiled' && echo 'int xxx;' >>k/sgemm.c && git commit -q -a "
	   "-m 'pack it' -m 'Klineage-Skill: pack-panel-1234567@abc\nKlineage-Trait: packed' && "
	   "echo 'int z;' >>k/sgemm.c && git commit -q -a -m 'untile' -m 'Klineage-Direction: back\nKlineage-Trait: tiled' "
	   "&& echo r >README && git add README && git commit -q -m 'elsewhere'");
	assert_ok(kl_repo_open_at(&repo, dir));
	head = oid_of(dir, "HEAD");
	assert_ok(kl_repo_tree_of(&tree, repo, &head));
	assert_ok(kl_surface_from_tree(&surface, repo, &tree, "k"));
	assert_ok(kl_target_of_commit(&target, tax, repo, surface, &head, "cpu/x86-64-v2"));
	assert_false(target.measured);
	assert_true(kl_target_has(&target, "pack-panel-1234567") &&
		    kl_target_has(&target, "trait:packed"));
	assert_false(kl_target_has(&target, "trait:tiled"));
	/*
	 * the event stands on the commit that last changed the surface; the older and the failed do
	 * not count
	 */
	for (int i = 0; i < 3; i++) {
		static const char *const feature[] = { "old", "new", "failed" };

		entry = json_pack("{s:i,s:s,s:s,s:s,s:s,s:s,s:{s:s},s:[s]}", "v", 1, "kind", "gate",
				  "time", i == 0 ? "2026-01-01T00:00:00Z" : "2026-01-02T00:00:00Z",
				  "surface", surface->digest, "contract", surface->contract_digest,
				  "verdict", i == 2 ? "fail" : "pass", "platform", "id",
				  i == 2 ? "cpu/x86-64-v4" : "cpu/x86-64-v3", "features",
				  feature[i]);
		seal_doc(entry);
		kl_json_canonical(&line, entry);
		kl_buf_addch(&line, '\n');
		json_decref(entry);
	}
	assert_ok(kl_fs_put(note, line.ptr, line.len, 0644));
	sh(dir, "git notes --ref klineage/gate add -F note HEAD~1");
	assert_ok(kl_target_of_commit(&other, tax, repo, surface, &head, NULL));
	assert_string_equal(other.platform, "cpu/x86-64-v3");
	assert_true(other.measured && kl_target_has(&other, "new"));
	assert_false(kl_target_has(&other, "failed") || kl_target_has(&other, "old"));
}

/* a failure of the same files outweighs a pass, whichever commit's note has it */
static void test_failure_elsewhere(void **state)
{
	KL_AUTO(kl_freep) char *dir = scratch_dir("elsewhere");
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	KL_AUTO(kl_surface_freep) struct kl_surface *surface = NULL;
	KL_AUTO(kl_freep) char *path = kl_fs_join(dir, "k/klineage.yaml");
	KL_AUTO(kl_freep) char *note = kl_fs_join(dir, "note");
	git_oid head, tree;

	sh(dir, "git init -q -b main . && mkdir k && echo 'int x;' >k/sgemm.c && "
		"echo 'int y;' >k/oracle.c");
	assert_ok(kl_fs_put(path, sgemm, strlen(sgemm), 0644));
	sh(dir, "git add . && git commit -q -m first && git commit -q --allow-empty -m second");
	assert_ok(kl_repo_open_at(&repo, dir));
	head = oid_of(dir, "HEAD");
	assert_ok(kl_repo_tree_of(&tree, repo, &head));
	assert_ok(kl_surface_from_tree(&surface, repo, &tree, "k"));
	for (int fails = 0; fails < 2; fails++) {
		KL_AUTO(kl_target_release) struct kl_target target = { .known = KL_KNOWN_INIT };
		KL_AUTO(kl_buf_release) struct kl_buf line = KL_BUF_INIT;
		json_t *doc = json_pack("{s:i,s:s,s:s,s:s,s:s,s:s,s:s?,s:{s:s},s:[s]}", "v", 1,
					"kind", "gate", "time", "2026-01-02T00:00:00Z", "surface",
					surface->digest, "contract", surface->contract_digest,
					"verdict", fails ? "fail" : "pass", "class",
					fails ? "wrong-all" : NULL, "platform", "id",
					"cpu/x86-64-v3", "features", "x");

		seal_doc(doc);
		kl_json_canonical(&line, doc);
		json_decref(doc);
		assert_ok(kl_fs_put(note, line.ptr, line.len, 0644));
		sh(dir, "git notes --ref klineage/gate add -F note %s", fails ? "HEAD~1" : "HEAD");
		assert_ok(kl_target_of_commit(&target, tax, repo, surface, &head, "cpu/x86-64-v3"));
		assert_int_equal(target.measured, !fails);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_target),
		cmocka_unit_test(test_of_commit),
		cmocka_unit_test(test_failure_elsewhere),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
