/* SPDX-License-Identifier: Apache-2.0 */
/* Opening: every shape of repository, config, identity, the index. */
#include "scratch.h"

static void plain(void **state)
{
	KL_AUTO(kl_freep) char *dir = scratch_repo("plain");
	KL_AUTO(kl_freep) char *sub = kl_fs_join(dir, "dir");
	KL_AUTO(kl_freep) char *git = kl_fs_join(dir, ".git");
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;

	assert_ok(kl_repo_open_at(&repo, sub));
	assert_string_equal(kl_repo_worktree(repo), dir);
	assert_string_equal(kl_repo_git_dir(repo), git);
	assert_string_equal(kl_repo_common_dir(repo), git);
	assert_string_equal(kl_repo_prefix(repo), "dir/");
	assert_string_equal(kl_repo_worktree_id(repo), "main");
	assert_false(kl_repo_is_bare(repo));
	assert_ok(kl_repo_need_history(repo));
}

static void from_git_dir(void **state)
{
	KL_AUTO(kl_freep) char *dir = scratch_repo("gitdir");
	KL_AUTO(kl_freep) char *git = kl_fs_join(dir, ".git");
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;

	assert_ok(kl_repo_open_at(&repo, git));
	assert_null(kl_repo_worktree(repo));
	assert_false(kl_repo_is_bare(repo));
	assert_string_equal(kl_repo_prefix(repo), "");
}

static void none(void **state)
{
	KL_AUTO(kl_freep) char *dir = scratch_dir("none");
	KL_AUTO(kl_freep) char *absent = kl_fs_join(dir, "absent");
	struct kl_repo *repo = NULL;

	assert_error(KL_ENOTFOUND, "not in a git repository", kl_repo_open_at(&repo, dir));
	assert_error(KL_ENOTFOUND, "absent", kl_repo_open_at(&repo, absent));
	assert_null(repo);
}

static void bare(void **state)
{
	KL_AUTO(kl_freep) char *dir = scratch_dir("bare");
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	git_oid oid;
	bool dirty = true;

	sh(dir, "git init -q --bare .");
	assert_ok(kl_repo_open_at(&repo, dir));
	assert_true(kl_repo_is_bare(repo));
	assert_null(kl_repo_worktree(repo));
	assert_string_equal(kl_repo_git_dir(repo), dir);
	assert_ok(kl_repo_is_dirty(&dirty, repo));
	assert_false(dirty);
	assert_error(KL_EINVALID, "bare", kl_repo_staged_tree(&oid, repo));
	assert_error(KL_ENOTFOUND, "HEAD has no commit yet", kl_repo_resolve(&oid, repo, "HEAD"));
}

static void linked(void **state)
{
	KL_AUTO(kl_freep) char *dir = scratch_repo("linked");
	KL_AUTO(kl_freep) char *one = kl_asprintf("%s/../linked-one", dir);
	KL_AUTO(kl_freep) char *other = kl_asprintf("%s/../w/main", dir);
	KL_AUTO(kl_freep) char *git = kl_fs_join(dir, ".git");
	KL_AUTO(kl_repo_freep) struct kl_repo *left = NULL, *right = NULL;
	git_oid oid;

	sh(dir, "git worktree add -q ../linked-one; git worktree add -q -b x ../w/main; "
		"cd ../linked-one; git commit -q --allow-empty -m other");
	assert_ok(kl_repo_open_at(&left, one));
	assert_string_equal(kl_repo_worktree_id(left), "linked-one");
	assert_string_equal(kl_repo_common_dir(left), git);
	assert_ok(kl_repo_resolve(&oid, left, "HEAD"));
	assert_oid(dir, "linked-one", &oid);
	assert_ok(kl_repo_open_at(&right, other));
	assert_string_equal(kl_repo_worktree_id(right), "main.linked");
}

static void refused_formats(void **state)
{
	KL_AUTO(kl_freep) char *dir = scratch_dir("sha256");
	KL_AUTO(kl_freep) char *two = scratch_repo("reftable");
	KL_AUTO(kl_freep) char *three = scratch_repo("strange");
	struct kl_repo *repo = NULL;

	sh(dir, "git init -q --object-format=sha256 .");
	assert_error(KL_ECANNOT, "sha256", kl_repo_open_at(&repo, dir));
	sh(two, "git config core.repositoryformatversion 1; "
		"git config extensions.refStorage reftable");
	assert_error(KL_ECANNOT, "ref", kl_repo_open_at(&repo, two));
	sh(three, "git config extensions.compatobjectformat sha256");
	assert_error(KL_ECANNOT, "compatobjectformat", kl_repo_open_at(&repo, three));
	assert_null(repo);
}

static void harmless_extensions(void **state)
{
	KL_AUTO(kl_freep) char *dir = scratch_repo("extensions");
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	git_oid oid;

	sh(dir, "git config core.repositoryformatversion 1; "
		"git config extensions.preciousObjects true; "
		"git config extensions.worktreeConfig true; git config --worktree my.key here");
	assert_ok(kl_repo_open_at(&repo, dir));
	assert_string_equal(kl_repo_config(repo, "my.key"), "here");
	assert_ok(kl_repo_resolve(&oid, repo, "HEAD"));
}

static void cut_history(void **state)
{
	KL_AUTO(kl_freep) char *dir = scratch_repo("full");
	KL_AUTO(kl_freep) char *shallow = kl_asprintf("%s/../shallow", dir);
	KL_AUTO(kl_freep) char *partial = kl_asprintf("%s/../partial", dir);
	KL_AUTO(kl_freep) char *advice = NULL;
	KL_AUTO(kl_repo_freep) struct kl_repo *left = NULL, *right = NULL, *repo = NULL;

	sh(dir, "git commit -q --allow-empty -m second; git config uploadpack.allowFilter true; "
		"git clone -q --depth 1 \"file://$PWD\" ../shallow; "
		"git clone -q --origin my.origin --filter=blob:none --no-checkout "
		"\"file://$PWD\" ../partial");
	assert_ok(kl_repo_open_at(&left, shallow));
	assert_error(KL_ECANNOT, "shallow", kl_repo_need_history(left));
	assert_ok(kl_repo_open_at(&right, partial));
	assert_error(KL_ECANNOT, "'my.origin'", kl_repo_need_history(right));
	/* the advice must lead out of it */
	advice = kl_strdup(kl_error_hints());
	sh(partial, "%s", advice);
	assert_ok(kl_repo_open_at(&repo, partial));
	assert_ok(kl_repo_need_history(repo));
	assert_sh("", partial,
		  "GIT_NO_LAZY_FETCH=1 git rev-list --objects --all --missing=print "
		  "| grep '^?' || :");
}

static void config(void **state)
{
	KL_AUTO(kl_freep) char *dir = scratch_repo("config");
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	int64_t n;
	bool _bool;

	sh(dir,
	   "git config klineage.stepLimit 2k; git config klineage.skillsRef refs/heads/s; "
	   "git config klineage.Sub.Section.key one; git config --add klineage.Sub.Section.key two; "
	   "git config klineage.off off; git config klineage.bad maybe; "
	   "git config klineage.lines \"$(printf 'a\\nb')\"; printf '[klineage]\\n\\tyes\\n' >>.git/config");
	assert_ok(kl_repo_open_at(&repo, dir));
	assert_string_equal(kl_repo_config(repo, "klineage.skillsref"), "refs/heads/s");
	assert_string_equal(kl_repo_config(repo, "Klineage.skillsRef"), "refs/heads/s");
	assert_string_equal(kl_repo_config(repo, "klineage.Sub.Section.KEY"), "two");
	assert_null(kl_repo_config(repo, "klineage.sub.section.key"));
	assert_string_equal(kl_repo_config(repo, "klineage.lines"), "a\nb");
	assert_ok(kl_repo_config_int(&n, repo, "klineage.stepLimit", 7));
	assert_int_equal(n, 2048);
	assert_ok(kl_repo_config_int(&n, repo, "klineage.none", 7));
	assert_int_equal(n, 7);
	assert_error(KL_EINVALID, "maybe", kl_repo_config_int(&n, repo, "klineage.bad", 7));
	assert_ok(kl_repo_config_bool(&_bool, repo, "klineage.yes", false));
	assert_true(_bool);
	assert_ok(kl_repo_config_bool(&_bool, repo, "klineage.off", true));
	assert_false(_bool);
	assert_ok(kl_repo_config_bool(&_bool, repo, "klineage.none", true));
	assert_true(_bool);
	assert_error(KL_EINVALID, "klineage.bad",
		     kl_repo_config_bool(&_bool, repo, "klineage.bad", 0));
}

/* `git -c` reaches us through the environment; a scratch repository must not see it. */
static void config_of_the_caller(void **state)
{
	KL_AUTO(kl_freep) char *dir = scratch_repo("config-c");
	KL_AUTO(kl_repo_freep) struct kl_repo *here = NULL, *at = NULL;
	int err;

	assert_int_equal(chdir(dir), 0);
	setenv("GIT_CONFIG_PARAMETERS", "'klineage.x=from -c'", 1);
	setenv("GIT_CONFIG_COUNT", "1", 1);
	setenv("GIT_CONFIG_KEY_0", "klineage.y", 1);
	setenv("GIT_CONFIG_VALUE_0", "counted", 1);
	err = kl_repo_open(&here) | kl_repo_open_at(&at, dir);
	unsetenv("GIT_CONFIG_PARAMETERS");
	unsetenv("GIT_CONFIG_COUNT");
	assert_ok(err);
	assert_string_equal(kl_repo_config(here, "klineage.x"), "from -c");
	assert_string_equal(kl_repo_config(here, "klineage.y"), "counted");
	assert_null(kl_repo_config(at, "klineage.x"));
	assert_null(kl_repo_config(at, "klineage.y"));
}

static void environment(void **state)
{
	KL_AUTO(kl_freep) char *dir = scratch_repo("env");
	KL_AUTO(kl_freep) char *git = kl_fs_join(dir, ".git");
	KL_AUTO(kl_freep) char *elsewhere = scratch_dir("elsewhere");
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	struct kl_repo *none_at = NULL;
	git_oid oid;
	int err, err_at;

	assert_int_equal(chdir(elsewhere), 0);
	setenv("GIT_DIR", "../env/.git", 1);
	err = kl_repo_open(&repo);
	err_at = kl_repo_open_at(&none_at, elsewhere);
	assert_int_equal(chdir("/"), 0);
	if (!err)
		err = kl_repo_resolve(&oid, repo, "main");
	unsetenv("GIT_DIR");
	assert_ok(err);
	assert_string_equal(kl_repo_git_dir(repo), git);
	assert_oid(dir, "main", &oid);
	assert_int_equal(err_at, KL_ENOTFOUND);
}

/* In the quarantine of a push, new objects are written there, and old objects are found. */
static void object_directory(void **state)
{
	KL_AUTO(kl_freep) char *dir = scratch_repo("quarantine");
	KL_AUTO(kl_freep) char *objects = kl_fs_join(dir, ".git/objects");
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	git_oid head = oid_of(dir, "HEAD"), tree, blob;
	int err;

	sh(dir, "mkdir incoming");
	assert_int_equal(chdir(dir), 0);
	setenv("GIT_OBJECT_DIRECTORY", "incoming", 1);
	setenv("GIT_ALTERNATE_OBJECT_DIRECTORIES", objects, 1);
	err = kl_repo_open(&repo);
	if (!err)
		err = kl_repo_tree_of(&tree, repo, &head);
	if (!err)
		err = kl_repo_blob_write(&blob, repo, "new here", 8);
	assert_int_equal(chdir("/"), 0);
	if (!err)
		err = kl_repo_resolve(&head, repo, "main");
	unsetenv("GIT_OBJECT_DIRECTORY");
	unsetenv("GIT_ALTERNATE_OBJECT_DIRECTORIES");
	assert_ok(err);
	assert_oid(dir, "HEAD^{tree}", &tree);
	sh(dir, "! git cat-file -e %s 2>/dev/null", git_oid_tostr_s(&blob));
	assert_sh("new here", dir, "GIT_OBJECT_DIRECTORY=incoming git cat-file -p %s",
		  git_oid_tostr_s(&blob));
}

/* Names that a careless reader of git's output or a shell would trip over. */
static void odd_paths(void **state)
{
	KL_AUTO(kl_freep) char *dir = scratch_dir("it's \\odd* [\303\244]");
	KL_AUTO(kl_freep) char *line = kl_asprintf("%s/two\nlines", dir);
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	struct kl_repo *none_at = NULL;
	git_oid oid;

	sh(dir, "git init -q .; git commit -q --allow-empty -m x; n=$(printf 'two\nlines'); "
		"mkdir \"$n\"; cd \"$n\"; git init -q .");
	assert_ok(kl_repo_open_at(&repo, dir));
	assert_string_equal(kl_repo_worktree(repo), dir);
	assert_ok(kl_repo_resolve(&oid, repo, "HEAD"));
	assert_ok(kl_repo_staged_tree(&oid, repo));
	assert_error(KL_ECANNOT, "newline", kl_repo_open_at(&none_at, line));
}

static void foreign_owner(void **state)
{
	KL_AUTO(kl_freep) char *dir = scratch_repo("foreign");
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;

	if (geteuid() != 0) {
		print_message("skipped: only root can give a repository away\n");
		skip();
	}
	sh(dir, "chown -R 65534 .");
	assert_error(KL_EINVALID, "dubious ownership", kl_repo_open_at(&repo, dir));
	assert_contains(kl_error_hints(), "safe.directory");
	sh(dir, "git config --global safe.directory '*'");
	assert_ok(kl_repo_open_at(&repo, dir));
	sh(dir, "git config --global --unset safe.directory");
}

static void identity(void **state)
{
	KL_AUTO(kl_freep) char *dir = scratch_repo("identity");
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL, *bad = NULL;
	const char *who;
	int err;

	assert_ok(kl_repo_open_at(&repo, dir));
	assert_ok(kl_repo_identity(&who, repo));
	assert_string_equal(who, "C O Mitter <committer@example.com>");
	unsetenv("GIT_COMMITTER_NAME");
	unsetenv("GIT_COMMITTER_EMAIL");
	sh(dir, "git config user.useConfigOnly true");
	err = kl_repo_open_at(&bad, dir);
	if (!err)
		err = kl_repo_identity(&who, bad);
	setenv("GIT_COMMITTER_NAME", "C O Mitter", 1);
	setenv("GIT_COMMITTER_EMAIL", "committer@example.com", 1);
	assert_error(KL_EINVALID, "no identity", err);
	assert_contains(kl_error_hints(), "git config --global user.email");
}

static void unborn(void **state)
{
	KL_AUTO(kl_freep) char *dir = scratch_dir("unborn");
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	git_oid oid;
	bool dirty;

	sh(dir, "git init -q .; echo x >x");
	assert_ok(kl_repo_open_at(&repo, dir));
	assert_error(KL_ENOTFOUND, "HEAD has no commit yet", kl_repo_resolve(&oid, repo, "HEAD"));
	assert_error(KL_ENOTFOUND, "no revision 'nothing'", kl_repo_resolve(&oid, repo, "nothing"));
	assert_ok(kl_repo_staged_tree(&oid, repo));
	assert_oid(dir, "4b825dc642cb6eb9a060e54bf8d69288fbee4904", &oid);
	assert_ok(kl_repo_is_dirty(&dirty, repo));
	assert_false(dirty);
	sh(dir, "git add x");
	assert_ok(kl_repo_is_dirty(&dirty, repo));
	assert_true(dirty);
}

static void staged(void **state)
{
	KL_AUTO(kl_freep) char *dir = scratch_repo("staged");
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	KL_AUTO(kl_freep) char *before = NULL;
	git_oid oid;
	bool dirty;

	assert_ok(kl_repo_open_at(&repo, dir));
	assert_ok(kl_repo_is_dirty(&dirty, repo));
	assert_false(dirty);
	sh(dir, "sleep 0.01; touch a.txt"); /* another time, the same bytes */
	before = sh_text(dir, "sha256sum .git/index");
	assert_ok(kl_repo_is_dirty(&dirty, repo));
	assert_false(dirty);
	sh(dir, "echo changed >a.txt; git add a.txt; echo not staged >dir/b.txt");
	free(before);
	before = sh_text(dir, "sha256sum .git/index");
	assert_ok(kl_repo_staged_tree(&oid, repo));
	assert_sh(before, dir, "sha256sum .git/index");
	assert_oid(dir, "$(git write-tree)", &oid);
	assert_sh("", dir, "test ! -e .git/index.lock");
	/* conflicts */
	sh(dir, "git commit -qam c1; git checkout -q -b side HEAD~1; echo mine >a.txt; "
		"git commit -qam c2; git merge -q main >/dev/null || :");
	assert_error(KL_EINVALID, "'a.txt' has conflicts", kl_repo_staged_tree(&oid, repo));
}

/* `git commit <path>` makes an index of its own; a hook must see that one. */
static void staged_in_hook(void **state)
{
	KL_AUTO(kl_freep) char *dir = scratch_repo("hook");
	KL_AUTO(kl_freep) char *index = kl_fs_join(dir, ".git/other-index");
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	git_oid oid;
	int err;

	sh(dir, "echo 1 >p; echo 2 >q; git add p; cp .git/index .git/other-index; git add q");
	assert_int_equal(chdir(dir), 0);
	setenv("GIT_INDEX_FILE", ".git/other-index", 1);
	err = kl_repo_open(&repo);
	if (!err)
		err = kl_repo_staged_tree(&oid, repo);
	unsetenv("GIT_INDEX_FILE");
	assert_ok(err);
	assert_oid(dir, "$(GIT_INDEX_FILE=.git/other-index git write-tree)", &oid);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain),
		cmocka_unit_test(from_git_dir),
		cmocka_unit_test(none),
		cmocka_unit_test(bare),
		cmocka_unit_test(linked),
		cmocka_unit_test(refused_formats),
		cmocka_unit_test(harmless_extensions),
		cmocka_unit_test(cut_history),
		cmocka_unit_test(config),
		cmocka_unit_test(config_of_the_caller),
		cmocka_unit_test(environment),
		cmocka_unit_test(object_directory),
		cmocka_unit_test(odd_paths),
		cmocka_unit_test(foreign_owner),
		cmocka_unit_test(identity),
		cmocka_unit_test(unborn),
		cmocka_unit_test(staged),
		cmocka_unit_test(staged_in_hook),
	};

	return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
