/* SPDX-License-Identifier: Apache-2.0 */
#include "scratch.h"

#include <sys/stat.h>

#include "contract/surface.h"

static const char contract[] = "klineage: 1\n"
			       "workload: copy\n"
			       "case: {op: copy, dims: {n: 8}}\n"
			       "surface: {language: c, sources: [sub/b.h, a.c], entry: copy}\n"
			       "args:\n"
			       "  - {name: x, kind: in, dtype: f64, shape: [n]}\n"
			       "  - {name: y, kind: out, dtype: f64, shape: [n]}\n"
			       "oracle: {language: c, sources: [oracle.c, zz.h], entry: copy}\n"
			       "accept: {rule: exact}\n";

static void put(const char *root, const char *path, const char *text)
{
	KL_AUTO(kl_freep) char *full = kl_fs_join(root, path);

	assert_ok(kl_fs_mkdir_of(full));
	assert_ok(kl_fs_put(full, text, strlen(text), 0644));
}

static char *scratch(void)
{
	char *root = NULL;

	assert_ok(kl_fs_tempdir(&root, "surface"));
	put(root, "k/klineage.yaml", contract);
	put(root, "k/a.c", "int a;\n");
	put(root, "k/sub/b.h", "");
	put(root, "k/oracle.c", "int o;\n");
	put(root, "k/zz.h", "int z;\n");
	return root;
}

static void in_root(const char *root, const char *path, char *full, size_t n)
{
	snprintf(full, n, "%s/%s", root, path);
}

static void reads_files_sorted(void **state)
{
	KL_AUTO(kl_fs_tempdir_cleanup) char *root = scratch();
	KL_AUTO(kl_surface_freep) struct kl_surface *surface = NULL;

	assert_ok(kl_surface_from_dir(&surface, root, "k"));
	assert_string_equal(surface->contract->workload, "copy");
	assert_string_equal(surface->dir, "k");
	assert_int_equal(surface->nfile, 2);
	assert_string_equal(surface->file[0].path, "a.c");
	assert_string_equal(surface->file[0].data, "int a;\n");
	assert_string_equal(surface->file[1].path, "sub/b.h");
	assert_int_equal(surface->file[1].len, 0);
	assert_int_equal(surface->noracle, 2);
	assert_string_equal(surface->contract_file.data, contract);
}

/* The digest as docs/formats.md spells it, computed another way. */
static void digest_is_as_documented(void **state)
{
	static const char sources[] = "100644\0a.c\0"
				      "7\0int a;\n"
				      "100755\0sub/b.h\0"
				      "0";
	KL_AUTO(kl_fs_tempdir_cleanup) char *root = scratch();
	KL_AUTO(kl_surface_freep) struct kl_surface *surface = NULL;
	KL_AUTO(kl_buf_release) struct kl_buf rules = KL_BUF_INIT;
	char want[KL_DIGEST_HEX], path[4096];

	in_root(root, "k/sub/b.h", path, sizeof(path));
	assert_int_equal(chmod(path, 0700), 0);
	assert_ok(kl_surface_from_dir(&surface, root, "k"));
	kl_digest_hex(want, sources, sizeof(sources));
	assert_string_equal(surface->digest, want);

	kl_buf_addf(&rules, "100644%cklineage.yaml%c%zu%c%s", 0, 0, strlen(contract), 0, contract);
	kl_buf_addf(&rules, "100644%coracle.c%c7%cint o;\n", 0, 0, 0);
	kl_buf_addf(&rules, "100644%czz.h%c7%cint z;\n", 0, 0, 0);
	kl_digest_hex(want, rules.ptr, rules.len);
	assert_string_equal(surface->contract_digest, want);
}

static void digests_tell_what_changed(void **state)
{
	KL_AUTO(kl_fs_tempdir_cleanup) char *root = scratch();
	KL_AUTO(kl_surface_freep) struct kl_surface *left = NULL, *right = NULL, *surface = NULL,
						    *other = NULL;

	assert_ok(kl_surface_from_dir(&left, root, "k"));
	put(root, "k/unlisted.c", "int u;\n");
	assert_ok(kl_surface_from_dir(&right, root, "k"));
	assert_string_equal(left->digest, right->digest);
	assert_string_equal(left->contract_digest, right->contract_digest);
	put(root, "k/sub/b.h", "x");
	assert_ok(kl_surface_from_dir(&surface, root, "k"));
	assert_string_not_equal(left->digest, surface->digest);
	assert_string_equal(left->contract_digest, surface->contract_digest);
	put(root, "k/zz.h", "x");
	assert_ok(kl_surface_from_dir(&other, root, "k"));
	assert_string_equal(other->digest, surface->digest);
	assert_string_not_equal(other->contract_digest, surface->contract_digest);
}

static void refuses_links_and_holes(void **state)
{
	/* clang-format off */
	static const struct { const char *path, *target; int kind; const char *message; } rows[] = {
		{ "k/a.c", "oracle.c", KL_EINVALID, "'a.c' is a symbolic link, or its path contains one" },
		{ "k/a.c", "/etc/hostname", KL_EINVALID, "'a.c' is a symbolic link, or its path contains one" },
		{ "k/sub", "/tmp", KL_EINVALID, "'sub/b.h' is a symbolic link, or its path contains one" },
		{ "k/klineage.yaml", "a.c", KL_EINVALID, "'klineage.yaml' is a symbolic link" },
		{ "k/zz.h", "oracle.c", KL_EINVALID, "'zz.h' is a symbolic link, or its path contains one" },
		{ "k/a.c", NULL, KL_ENOTFOUND, "k/klineage.yaml: cannot open 'a.c'" },
		{ "k/klineage.yaml", NULL, KL_ENOTFOUND, "no contract '" },
	};
	/* clang-format on */

	for (size_t i = 0; i < KL_ARRAY_SIZE(rows); i++) {
		KL_AUTO(kl_fs_tempdir_cleanup) char *root = scratch();
		struct kl_surface *surface = NULL;
		char path[4096];

		in_root(root, rows[i].path, path, sizeof(path));
		assert_ok(kl_fs_remove(path));
		if (rows[i].target)
			assert_int_equal(symlink(rows[i].target, path), 0);
		assert_error(rows[i].kind, rows[i].message,
			     kl_surface_from_dir(&surface, root, "k"));
	}
}

static void refuses_what_is_no_file(void **state)
{
	KL_AUTO(kl_fs_tempdir_cleanup) char *root = scratch();
	struct kl_surface *surface = NULL;
	char path[4096];

	in_root(root, "k/a.c", path, sizeof(path));
	assert_ok(kl_fs_remove(path));
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_error(KL_EINVALID, "'a.c' is not a regular file",
		     kl_surface_from_dir(&surface, root, "k"));
	assert_ok(kl_fs_remove(path));
	assert_ok(kl_fs_mkdir(path));
	assert_error(KL_EINVALID, "'a.c' is not a regular file",
		     kl_surface_from_dir(&surface, root, "k"));
}

static void with_replaces_sources_only(void **state)
{
	KL_AUTO(kl_fs_tempdir_cleanup) char *root = scratch();
	KL_AUTO(kl_surface_freep) struct kl_surface *surface = NULL, *other = NULL, *again = NULL;
	char text[] = "int b;\n";
	char left[] = "a.c", oracle[] = "oracle.c";
	struct kl_file edit = { .path = left, .data = text, .len = 7 };
	struct kl_surface *none = NULL;

	assert_ok(kl_surface_from_dir(&surface, root, "k"));
	assert_ok(kl_surface_with(&other, surface, &edit, 1));
	assert_string_equal(surface->file[0].data, "int a;\n");
	assert_string_equal(other->file[0].data, "int b;\n");
	assert_int_equal(other->file[0].mode, 0100644);
	assert_string_not_equal(other->digest, surface->digest);
	assert_string_equal(other->contract_digest, surface->contract_digest);
	put(root, "k/a.c", "int b;\n");
	assert_ok(kl_surface_from_dir(&again, root, "k"));
	assert_string_equal(again->digest, other->digest);
	edit.path = oracle;
	assert_error(KL_EINVALID, "'oracle.c' is not a source",
		     kl_surface_with(&none, surface, &edit, 1));
}

static void with_oracle_replaces_oracle_files_only(void **state)
{
	KL_AUTO(kl_fs_tempdir_cleanup) char *root = scratch();
	KL_AUTO(kl_surface_freep) struct kl_surface *surface = NULL, *other = NULL;
	struct kl_surface *none = NULL;
	char text[] = "int p;\n", oracle[] = "oracle.c";
	char *const wrong[] = { (char *)"a.c", (char *)"klineage.yaml", (char *)"gone.c",
				(char *)"../oracle.c" };
	struct kl_file edit = { .path = oracle, .mode = 0100644, .data = text, .len = 7 };

	assert_ok(kl_surface_from_dir(&surface, root, "k"));
	assert_ok(kl_surface_with_oracle(&other, surface, &edit, 1));
	assert_string_equal(other->oracle[0].data, "int p;\n");
	assert_string_equal(other->digest, surface->digest);
	assert_string_not_equal(other->contract_digest, surface->contract_digest);
	for (size_t i = 0; i < KL_ARRAY_SIZE(wrong); i++) {
		edit.path = wrong[i];
		assert_error(KL_EINVALID, "is not a file of the contract's oracle",
			     kl_surface_with_oracle(&none, surface, &edit, 1));
		assert_null(none);
	}
}

/* A tree and the files it was made of are one surface. */
static void tree_and_directory_agree(void **state)
{
	KL_AUTO(kl_freep) char *dir = scratch_repo("tree");
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	KL_AUTO(kl_surface_freep) struct kl_surface *surface = NULL, *other = NULL, *top = NULL;
	struct kl_surface *none = NULL;
	git_oid tree;

	put(dir, "dir/klineage.yaml", contract);
	put(dir, "dir/a.c", "int a;\n");
	put(dir, "dir/sub/b.h", "");
	put(dir, "dir/oracle.c", "int o;\n");
	put(dir, "dir/zz.h", "int z;\n");
	sh(dir, "chmod +x dir/a.c && git add . && git commit -q -m kernel");
	assert_ok(kl_repo_open_at(&repo, dir));
	tree = oid_of(dir, "HEAD^{tree}");
	assert_ok(kl_surface_from_tree(&surface, repo, &tree, "dir"));
	assert_ok(kl_surface_from_dir(&other, dir, "dir"));
	assert_string_equal(surface->digest, other->digest);
	assert_string_equal(surface->contract_digest, other->contract_digest);
	assert_int_equal(surface->file[0].mode, 0100755);
	assert_string_equal(surface->file[0].data, "int a;\n");
	/* as the root of a lineage: the same surface, wherever it lies */
	tree = oid_of(dir, "HEAD:dir");
	assert_ok(kl_surface_from_tree(&top, repo, &tree, ""));
	assert_string_equal(top->digest, surface->digest);
	assert_error(KL_ENOTFOUND, "the tree does not contain the contract 'sub/klineage.yaml'",
		     kl_surface_from_tree(&none, repo, &tree, "sub"));
}

static void trees_with_links_and_holes(void **state)
{
	/* clang-format off */
	static const struct { const char *change; int kind; const char *message; } rows[] = {
		{ "ln -sf zz.h dir/oracle.c", KL_EINVALID, "'oracle.c' is a symbolic link" },
		{ "rm -r dir/sub && ln -s .. dir/sub", KL_ENOTFOUND, "'sub/b.h'" },
		{ "rm dir/a.c && mkdir dir/a.c && echo >dir/a.c/x", KL_EINVALID, "'a.c'" },
		{ "rm dir/a.c", KL_ENOTFOUND, "'a.c'" },
		{ "rm dir/klineage.yaml && ln -s a.c dir/klineage.yaml", KL_EINVALID, "symbolic link" },
		{ "head -c 5000000 /dev/zero >dir/zz.h", KL_EINVALID, "'zz.h'" },
	};
	/* clang-format on */

	for (size_t i = 0; i < KL_ARRAY_SIZE(rows); i++) {
		KL_AUTO(kl_freep) char *dir = scratch_repo("holes");
		KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
		struct kl_surface *surface = NULL;
		git_oid tree;
		int err;

		put(dir, "dir/klineage.yaml", contract);
		put(dir, "dir/a.c", "");
		put(dir, "dir/sub/b.h", "");
		put(dir, "dir/oracle.c", "");
		put(dir, "dir/zz.h", "");
		sh(dir, "%s && git add -A && git commit -q -m x", rows[i].change);
		assert_ok(kl_repo_open_at(&repo, dir));
		tree = oid_of(dir, "HEAD^{tree}");
		err = kl_surface_from_tree(&surface, repo, &tree, "dir");
		if (err != rows[i].kind || !strstr(kl_error_last(), rows[i].message))
			fail_msg("%s: %d: %s", rows[i].change, err,
				 err ? kl_error_last() : "accepted");
	}
}

static void contracts_are_found(void **state)
{
	KL_AUTO(kl_freep) char *dir = scratch_repo("find");
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	KL_AUTO(kl_strvec_release) struct kl_strvec dirs = KL_STRVEC_INIT, names = KL_STRVEC_INIT;
	git_oid tree;

	put(dir, "b/klineage.yaml", contract);
	put(dir, "b.c/klineage.yaml", contract);
	put(dir, "klineage.yaml", contract);
	put(dir, "broken/deep/klineage.yaml", "klineage: 1\n");
	put(dir, "x/my-klineage.yaml", contract);
	sh(dir, "git add . && git commit -q -m x");
	assert_ok(kl_repo_open_at(&repo, dir));
	tree = oid_of(dir, "HEAD^{tree}");
	assert_ok(kl_surface_find(&dirs, &names, repo, &tree));
	assert_int_equal(dirs.n, 4);
	assert_int_equal(names.n, 4);
	assert_string_equal(dirs.v[0], "");
	assert_string_equal(names.v[0], "copy");
	assert_string_equal(dirs.v[1], "b");
	assert_string_equal(dirs.v[2], "b.c");
	assert_string_equal(dirs.v[3], "broken/deep");
	assert_string_equal(names.v[3], "");
}

static const char from_top[] =
	"klineage: 1\n"
	"workload: copy\n"
	"paths: repository\n"
	"case: {op: copy, dims: {n: 8}}\n"
	"surface: {language: c, sources: [src/b.h, src/a.c], entry: copy}\n"
	"args:\n"
	"  - {name: x, kind: in, dtype: f64, shape: [n]}\n"
	"  - {name: y, kind: out, dtype: f64, shape: [n]}\n"
	"oracle: {language: c, sources: [judge/copy.oracle.c], entry: copy}\n"
	"accept: {rule: exact}\n";

/* A contract of another name, with paths from the top: found, read alike, the same wherever it is. */
static void a_contract_can_be_elsewhere(void **state)
{
	KL_AUTO(kl_freep) char *dir = scratch_repo("elsewhere");
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	KL_AUTO(kl_surface_freep) struct kl_surface *one = NULL, *two = NULL, *other = NULL;
	KL_AUTO(kl_surface_freep) struct kl_surface *same = NULL, *changed = NULL;
	KL_AUTO(kl_strvec_release) struct kl_strvec places = KL_STRVEC_INIT, names = KL_STRVEC_INIT;
	git_oid tree;

	put(dir, "judge/copy.klineage.yaml", from_top);
	put(dir, "klineage.yaml", from_top);
	put(dir, "judge/copy.oracle.c", "int o;\n");
	put(dir, "judge/.klineage.yaml", "no contract: it has no name\n");
	put(dir, "src/a.c", "int a;\n");
	put(dir, "src/b.h", "");
	sh(dir, "git add . && git commit -q -m x");
	assert_ok(kl_repo_open_at(&repo, dir));
	tree = oid_of(dir, "HEAD^{tree}");
	assert_ok(kl_surface_find(&places, &names, repo, &tree));
	assert_int_equal(places.n, 2);
	assert_string_equal(places.v[0], "");
	assert_string_equal(places.v[1], "judge/copy.klineage.yaml");
	assert_ok(kl_surface_from_tree(&one, repo, &tree, places.v[1]));
	assert_string_equal(one->dir, "");
	assert_string_equal(one->place, "judge/copy.klineage.yaml");
	assert_string_equal(one->contract_file.path, "judge/copy.klineage.yaml");
	assert_string_equal(one->file[0].path, "src/a.c");
	assert_ok(kl_surface_from_dir(&two, dir, places.v[1]));
	assert_ok(kl_surface_from_tree(&other, repo, &tree, ""));
	assert_string_equal(one->digest, two->digest);
	assert_string_equal(one->contract_digest, two->contract_digest);
	assert_string_equal(one->digest, other->digest);
	assert_string_equal(one->contract_digest, other->contract_digest);
	assert_ok(kl_surface_with(&same, one, NULL, 0));
	assert_string_equal(same->place, one->place);
	assert_ok(kl_surface_with_contract(&changed, one, from_top, sizeof(from_top) - 1));
	assert_string_equal(changed->contract_digest, one->contract_digest);
	assert_string_equal(changed->contract_file.path, one->contract_file.path);
}

static void places_are_directories_or_files(void **state)
{
	/* clang-format off */
	static const struct { const char *path, *place, *dir; } rows[] = {
		{ "klineage.yaml", "", "" },
		{ "a/b/klineage.yaml", "a/b", "a/b" },
		{ "x.klineage.yaml", "x.klineage.yaml", "" },
		{ "a/b/x.klineage.yaml", "a/b/x.klineage.yaml", "a/b" },
		{ "a/my-klineage.yaml", NULL, NULL },
		{ "a/.klineage.yaml", NULL, NULL },
		{ "a/x.klineage.yaml.in", NULL, NULL },
	};
	/* clang-format on */

	for (size_t i = 0; i < KL_ARRAY_SIZE(rows); i++) {
		KL_AUTO(kl_freep) char *place = kl_contract_place_of(rows[i].path);
		KL_AUTO(kl_freep) char *dir = NULL, *path = NULL;

		if (!rows[i].place) {
			assert_null(place);
			continue;
		}
		assert_string_equal(place, rows[i].place);
		dir = kl_contract_place_dir(place);
		path = kl_contract_place_path(place);
		assert_string_equal(dir, rows[i].dir);
		assert_string_equal(path, rows[i].path);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_files_sorted),
		cmocka_unit_test(digest_is_as_documented),
		cmocka_unit_test(digests_tell_what_changed),
		cmocka_unit_test(refuses_links_and_holes),
		cmocka_unit_test(refuses_what_is_no_file),
		cmocka_unit_test(with_replaces_sources_only),
		cmocka_unit_test(with_oracle_replaces_oracle_files_only),
		cmocka_unit_test(tree_and_directory_agree),
		cmocka_unit_test(trees_with_links_and_holes),
		cmocka_unit_test(contracts_are_found),
		cmocka_unit_test(a_contract_can_be_elsewhere),
		cmocka_unit_test(places_are_directories_or_files),
	};

	return cmocka_run_group_tests_name("gate surface", tests, scratch_setup, scratch_teardown);
}
