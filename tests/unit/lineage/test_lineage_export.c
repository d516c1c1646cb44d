/* SPDX-License-Identifier: Apache-2.0 */
#include "lineage_fake.h"

#include "fsck/check.h"
#include "lineage/export.h"
#include "lineage/import.h"

#define NAME "x86-64-v3"

/* a finished lineage, exported to `<scratch>/<to>`; the repository's directory is the caller's */
static char *exported(const char *repo, const char *to)
{
	char *dir = fake_repo(repo);
	KL_AUTO(kl_freep) char *out_dir = kl_asprintf("%s/%s", scratch_root, to);
	KL_AUTO(kl_repo_freep) struct kl_repo *other = NULL;
	struct kl_sequencer_opts opts = fake_opts;
	struct kl_outcome out;
	size_t files;

	opts.name = NAME;
	assert_ok(fake_deopt(dir, &opts, &out));
	kl_outcome_release(&out);
	assert_ok(kl_repo_open_at(&other, dir));
	sh(scratch_root, "rm -rf '%s'", to);
	assert_ok(kl_export_write(other, "copy", NAME, out_dir, &files));
	assert_int_equal(files, 3 + 2 + 1 + 2); /* state, patches, rejected, two indexes */
	return dir;
}

static int import(const char *repo, const char *from, struct kl_import_result *res)
{
	KL_AUTO(kl_freep) char *dir = kl_asprintf("%s/%s", scratch_root, repo);
	KL_AUTO(kl_freep) char *from_dir = kl_asprintf("%s/%s", scratch_root, from);
	KL_AUTO(kl_repo_freep) struct kl_repo *other = NULL;

	assert_ok(kl_repo_open_at(&other, dir));
	return kl_import_read(res, other, from_dir, NULL);
}

static void test_round_trip(void **state)
{
	KL_AUTO(kl_freep) char *from = exported("from", "x");
	KL_AUTO(kl_freep) char *to = scratch_dir("to");
	KL_AUTO(kl_freep) char *again = kl_asprintf("%s/x2", scratch_root);
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	struct kl_import_result res;
	struct kl_check check = { 0 };
	size_t files;

	sh(to, "git init -q .");
	assert_ok(import("to", "x", &res));
	assert_int_equal(res.steps, 2);
	assert_int_equal(res.rejected, 1);
	assert_int_equal(res.events, 6);
	assert_false(res.already);
	/* the same commits, the same event ids */
	sh(scratch_root, "test \"$(git -C from rev-parse klineage/lineage/copy/" NAME ")\" = "
			 "\"$(git -C to rev-parse klineage/lineage/copy/" NAME ")\"");
	sh(scratch_root,
	   "for r in from to; do git -C $r rev-list klineage/lineage/copy/" NAME
	   " | while read c; do "
	   "git -C $r notes --ref=klineage/gate show $c; done | grep -o '\"id\":\"[0-9a-f]*\"' | sort >ids.$r; done; "
	   "test -s ids.from && cmp ids.from ids.to");
	sh(to, "git fsck --strict --no-dangling");
	/* again changes nothing, and what is exported from there is the same */
	assert_ok(import("to", "x", &res));
	assert_true(res.already);
	assert_ok(import("from", "x", &res));
	assert_true(res.already);
	assert_ok(kl_repo_open_at(&repo, to));
	sh(scratch_root, "rm -rf x2");
	assert_ok(kl_export_write(repo, "copy", NAME, again, &files));
	sh(scratch_root, "diff -r -x rejected -x gate.jsonl -x lineage.json x x2 && "
			 "ls x/rejected | cmp - - <<E\n$(ls x2/rejected)\nE");
	assert_error(KL_EEXISTS, "not empty", kl_export_write(repo, "copy", NAME, again, &files));
	check.repo = repo;
	assert_ok(kl_check_run(&check));
	assert_int_equal(check.errors + check.warnings, 0);
}

/* the patches are what git format-patch would write: git am takes them */
static void test_git_am(void **state)
{
	KL_AUTO(kl_freep) char *from = exported("am", "y");
	KL_AUTO(kl_freep) char *to = scratch_dir("am-to");

	sh(to,
	   "git init -q -b main . && cp -R ../y/state-0/. . && git add . && git commit -q -m K_0 && "
	   "git am -q ../y/*.patch");
	sh(scratch_root, "test \"$(git -C am rev-parse klineage/lineage/copy/" NAME "^{tree})\" = "
			 "\"$(git -C am-to rev-parse 'main^{tree}')\"");
	sh(scratch_root, "git -C am log -1 --format=%%B klineage/lineage/copy/" NAME " >m1 && "
			 "git -C am-to log -1 --format=%%B >m2 && cmp m1 m2");
}

/* whatever is changed in the export, the import says so and nothing appears */
static void test_tampered(void **state)
{
	static const char *const tamper[] = {
		"sed -i s/tiled/tilde/ 0001-*.patch",
		"sed -i s/naive/nave/ state-0/copy.c",
		"sed -i 's/Klineage-Action: untile/Klineage-Action: other/' 0001-*.patch",
		"sed -i 's/^From: A U/From: B U/' 0002-*.patch",
		"sed -i 's/\"verdict\":\"pass\"/\"verdict\":\"fail\"/' gate.jsonl",
		"sed -i 's/ratio_ppm\":[0-9]*/ratio_ppm\":9000000/' gate.jsonl",
		"rm 0001-*.patch",
		"rm -r state-0",
		"ln -s /etc/passwd state-0/passwd",
		"sed -i s,0001-,../0001-, lineage.json",
		"sed -i 's/\"name\": \"[^\"]*\"/\"name\": \"..\"/' lineage.json",
		"echo >lineage.json",
		"sed -i 's/klineage.export.1/klineage.export\\/2/' lineage.json",
		"printf 'From 0\\nSubject: x\\n' >0001-untile.patch",
	};
	KL_AUTO(kl_freep) char *from = exported("tampered", "z");
	KL_AUTO(kl_freep) char *to = scratch_dir("tampered-to");
	struct kl_import_result res;

	sh(to, "git init -q .");
	for (size_t i = 0; i < KL_ARRAY_SIZE(tamper); i++) {
		int err;

		sh(scratch_root,
		   "rm -rf z2 && cp -R z z2 && cd z2 && %s && ! diff -r ../z . >/dev/null",
		   tamper[i]);
		err = import("tampered-to", "z2", &res);
		if (err != KL_EINVALID && err != KL_ENOTFOUND)
			fail_msg("%s: %d %s", tamper[i], err, kl_error_last());
		assert_sh("", to, "git for-each-ref");
	}
}

static void test_names(void **state)
{
	KL_AUTO(kl_freep) char *from = exported("names", "n");
	KL_AUTO(kl_freep) char *to = scratch_dir("names-to");
	KL_AUTO(kl_freep) char *text = kl_asprintf("%s/n", scratch_root);
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	struct kl_import_result res;

	sh(to, "git init -q -b main . && git commit -q --allow-empty -m x && "
	       "git update-ref refs/heads/klineage/lineage/copy/" NAME " main");
	assert_ok(kl_repo_open_at(&repo, to));
	assert_error(KL_EEXISTS, "already exists", kl_import_read(&res, repo, text, NULL));
	assert_ok(kl_import_read(&res, repo, text, "theirs"));
	assert_string_equal(res.lineage, "refs/heads/klineage/lineage/copy/theirs");
	assert_error(KL_EINVALID, "invalid lineage name", kl_import_read(&res, repo, text, "A b"));
}

static void test_dates(void **state)
{
	static const char *const bad[] = { "", "yesterday", "Thu, 1 Foo 2026 00:00:00 +0000",
					   "Thu, 1 anF 2026 00:00:00 +0000",
					   "Thu, 1 Jan 2026 00:00:00" };
	int64_t turn;
	int off;

	assert_ok(kl_import_date(&turn, &off, "Thu, 01 Jan 1970 01:30:05 +0130"));
	assert_int_equal(turn, 5);
	assert_int_equal(off, 90);
	assert_ok(kl_import_date(&turn, &off, "Wed, 31 Dec 1969 16:00:00 -0800"));
	assert_int_equal(turn, 0);
	assert_int_equal(off, -480);
	for (size_t i = 0; i < KL_ARRAY_SIZE(bad); i++)
		assert_error(KL_EINVALID, "invalid date", kl_import_date(&turn, &off, bad[i]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip), cmocka_unit_test(test_git_am),
		cmocka_unit_test(test_tampered),   cmocka_unit_test(test_names),
		cmocka_unit_test(test_dates),
	};

	return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
