/* SPDX-License-Identifier: Apache-2.0 */
/* Objects: trees, commits, diffs, patches, histories; read back with stock git. */
#include "scratch.h"

#include "base/clock.h"

static struct kl_repo *open_repo(const char *dir)
{
	struct kl_repo *repo = NULL;

	assert_ok(kl_repo_open_at(&repo, dir));
	return repo;
}

static void resolve(void **state)
{
	KL_AUTO(kl_freep) char *dir = scratch_repo("resolve");
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = open_repo(dir);
	KL_AUTO(kl_freep) char *hex = sh_text(dir, "git rev-parse HEAD:a.txt");
	git_oid oid;

	sh(dir, "git tag -a -m t v1; git commit -q --allow-empty -m 'second thing'");
	assert_ok(kl_repo_resolve(&oid, repo, "v1"));
	assert_oid(dir, "v1^{commit}", &oid);
	assert_ok(kl_repo_resolve(&oid, repo, "HEAD^{/first}"));
	assert_oid(dir, "HEAD~1", &oid);
	assert_ok(kl_repo_resolve(&oid, repo, "@"));
	assert_error(KL_ENOTFOUND, "no revision '--all'", kl_repo_resolve(&oid, repo, "--all"));
	assert_error(KL_ENOTFOUND, "HEAD~9", kl_repo_resolve(&oid, repo, "HEAD~9"));
	assert_error(KL_ENOTFOUND, hex, kl_repo_resolve(&oid, repo, hex));
	assert_error(KL_ENOTFOUND, "0123",
		     kl_repo_resolve(&oid, repo, "0123456789012345678901234567890123456789"));
	assert_error(KL_EINVALID, "object id", kl_oid_parse(&oid, "12"));
	assert_error(KL_EINVALID, "object id",
		     kl_oid_parse(&oid, "XYZ3456789012345678901234567890123456789"));
}

static void trees(void **state)
{
	KL_AUTO(kl_freep) char *dir = scratch_repo("trees");
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = open_repo(dir);
	KL_AUTO(kl_blobs_release) struct kl_blobs all = { 0 };
	KL_AUTO(kl_buf_release) struct kl_buf data = KL_BUF_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf names = KL_BUF_INIT;
	KL_AUTO(kl_freep) char *want = NULL;
	git_oid head, tree, sub, oid;
	uint32_t mode;

	sh(dir, "echo x >dir.c; mkdir -p dir/sub; echo y >dir/sub/y; chmod +x dir/sub/y; "
		"ln -s a.txt link; git add .; git commit -q -m more");
	assert_ok(kl_repo_resolve(&head, repo, "HEAD"));
	assert_ok(kl_repo_tree_of(&tree, repo, &head));
	assert_oid(dir, "HEAD^{tree}", &tree);
	assert_ok(kl_repo_tree_list(&all, repo, &tree, 100));
	for (size_t i = 0; i < all.n; i++)
		kl_buf_addf(&names, "%s%o %s", i ? "\n" : "", all.b[i].mode, all.b[i].path);
	want = sh_text(dir, "git ls-files -s | sed 's,^\\([0-9]*\\) .*\t,\\1 ,'");
	assert_string_equal(names.ptr, want);
	assert_error(KL_EINVALID, "more than 4 files",
		     kl_repo_tree_list(&(struct kl_blobs){ 0 }, repo, &tree, 4));
	assert_ok(kl_repo_subtree(&sub, repo, &tree, "dir/sub"));
	assert_oid(dir, "HEAD:dir/sub", &sub);
	assert_ok(kl_repo_subtree(&sub, repo, &tree, ""));
	assert_oid(dir, "HEAD^{tree}", &sub);
	assert_error(KL_ENOTFOUND, "nope", kl_repo_subtree(&sub, repo, &tree, "nope"));
	assert_error(KL_ENOTFOUND, "not a directory", kl_repo_subtree(&sub, repo, &tree, "a.txt"));
	assert_ok(kl_repo_tree_entry(&oid, &mode, repo, &tree, "dir/sub/y"));
	assert_int_equal(mode, 0100755);
	assert_ok(kl_repo_blob_read(&data, repo, &oid, 10));
	assert_string_equal(data.ptr, "y\n");
	assert_error(KL_EINVALID, "more than the limit of 1",
		     kl_repo_blob_read(&data, repo, &oid, 1));
	assert_error(KL_EINVALID, "not a blob", kl_repo_blob_read(&data, repo, &tree, 100));
}

static void edits(void **state)
{
	KL_AUTO(kl_freep) char *dir = scratch_repo("edits");
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = open_repo(dir);
	/* clang-format off */
	const struct kl_tree_edit some[] = {
		{ .path = "dir/b.txt", .data = "new\n", .len = 4 },
		{ .path = "z/y/x", .data = "deep", .len = 4, .mode = 0100755 },
		{ .path = "a.txt" }, { .path = "not/there" },
	};
	/* clang-format on */
	const struct kl_tree_edit file_for_dir[] = {
		{ .path = "dir", .data = "f", .len = 1 },
		{ .path = "dir/b.txt" },
	};
	const struct kl_tree_edit dir_for_file[] = {
		{ .path = "a.txt/in", .data = "f", .len = 1 },
		{ .path = "a.txt" },
	};
	const struct kl_tree_edit all[] = { { .path = "a.txt" }, { .path = "dir" } };
	const struct kl_tree_edit bad[] = { { .path = "../x", .data = "f", .len = 1 } };
	const struct kl_tree_edit git[] = { { .path = "d/.GIT/config", .data = "f", .len = 1 } };
	git_oid tree = oid_of(dir, "HEAD^{tree}"), out, again;

	assert_ok(kl_repo_tree_edit(&out, repo, &tree, some, KL_ARRAY_SIZE(some)));
	sh(dir, "git rm -q a.txt; echo new >dir/b.txt; mkdir -p z/y; printf deep >z/y/x; "
		"chmod +x z/y/x; git add .");
	assert_oid(dir, "$(git write-tree)", &out);
	sh(dir, "git reset -q --hard; git rm -q dir/b.txt; printf f >dir; git add dir");
	assert_ok(kl_repo_tree_edit(&out, repo, &tree, file_for_dir, 2));
	assert_oid(dir, "$(git write-tree)", &out);
	sh(dir, "git reset -q --hard; git rm -q a.txt; mkdir a.txt; printf f >a.txt/in; git add .");
	assert_ok(kl_repo_tree_edit(&out, repo, &tree, dir_for_file, 2));
	assert_oid(dir, "$(git write-tree)", &out);
	assert_ok(kl_repo_tree_edit(&out, repo, &tree, all, 2));
	assert_oid(dir, "4b825dc642cb6eb9a060e54bf8d69288fbee4904", &out);
	assert_ok(kl_repo_tree_edit(&out, repo, &tree, NULL, 0));
	assert_oid(dir, "HEAD^{tree}", &out);
	assert_ok(kl_repo_tree_edit(&again, repo, NULL, some, 1));
	assert_sh("dir/b.txt", dir, "git ls-tree -r --name-only %s", git_oid_tostr_s(&again));
	assert_error(KL_EINVALID, "a part of its path is a file",
		     kl_repo_tree_edit(&out, repo, &tree, dir_for_file, 1));
	assert_error(KL_EINVALID, "is a directory",
		     kl_repo_tree_edit(&out, repo, &tree, file_for_dir, 1));
	assert_error(KL_EINVALID, "../x", kl_repo_tree_edit(&out, repo, &tree, bad, 1));
	assert_error(KL_EINVALID, ".GIT", kl_repo_tree_edit(&out, repo, &tree, git, 1));
	sh(dir, "git fsck --strict");
}

static void commits(void **state)
{
	KL_AUTO(kl_freep) char *dir = scratch_repo("commits");
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = open_repo(dir);
	KL_AUTO(kl_commit_release) struct kl_commit commit = { 0 };
	git_oid head = oid_of(dir, "HEAD"), out, again;
	struct kl_commit_spec spec = {
		.tree = oid_of(dir, "HEAD^{tree}"),
		.parent = &head,
		.nparent = 1,
		.message = "Subject\n\nBody\n",
	};
	const char *const bad[] = { "x", "<a@b>", "A <a@b", "A\nB <c>", "A <b> <c>", " <a@b>" };

	setenv("GIT_AUTHOR_DATE", "2026-01-02T03:04:05+0230", 1);
	setenv("GIT_COMMITTER_DATE", "1700000000 -0500", 1);
	assert_ok(kl_repo_commit_write(&out, repo, &spec));
	assert_oid(dir, "$(printf 'Subject\\n\\nBody\\n' | git commit-tree -p HEAD HEAD^{tree})",
		   &out);
	unsetenv("GIT_AUTHOR_DATE");
	unsetenv("GIT_COMMITTER_DATE");
	assert_ok(kl_repo_commit_write(&out, repo, &spec));
	sh(dir, "test $(( $(date +%%s) - $(git log -1 --format=%%ct %s) )) -lt 60",
	   git_oid_tostr_s(&out));
	spec.author = "R <r@example.com>";
	spec.time = 1234567890;
	spec.offset = -90;
	assert_ok(kl_repo_commit_write(&out, repo, &spec));
	assert_sh("R <r@example.com> 1234567890 -0130\nR <r@example.com> 1234567890 -0130", dir,
		  "git cat-file -p %s | sed -n 's/^author //p;s/^committer //p'",
		  git_oid_tostr_s(&out));
	assert_ok(kl_repo_commit_write(&again, repo, &spec));
	assert_true(git_oid_equal(&out, &again));
	assert_ok(kl_repo_commit_read(&commit, repo, &out));
	assert_string_equal(commit.author, spec.author);
	assert_string_equal(commit.message, spec.message);
	assert_int_equal(commit.author_time, 1234567890);
	assert_int_equal(commit.author_offset, -90);
	assert_int_equal(commit.nparent, 1);
	assert_true(git_oid_equal(commit.parent, &head));
	for (size_t i = 0; i < KL_ARRAY_SIZE(bad); i++) {
		spec.author = bad[i];
		assert_error(KL_EINVALID, "Name <mail>", kl_repo_commit_write(&out, repo, &spec));
	}
	spec.author = NULL;
	spec.tree = head;
	assert_error(KL_ENOTFOUND, "no such tree", kl_repo_commit_write(&out, repo, &spec));
	sh(dir, "git fsck --strict");
}

static void signed_commits(void **state)
{
	KL_AUTO(kl_freep) char *dir = scratch_repo("signed");
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	struct kl_commit_spec spec = { .tree = oid_of(dir, "HEAD^{tree}"), .message = "signed" };
	git_oid out;

	if (try_sh(NULL, dir, "command -v ssh-keygen >/dev/null")) {
		print_message("skipped: no ssh-keygen\n");
		skip();
	}
	sh(dir, "ssh-keygen -q -t ed25519 -N '' -f ../key; git config gpg.format ssh; "
		"git config user.signingKey \"$PWD/../key\"; git config commit.gpgSign true; "
		"echo \"committer@example.com $(cat ../key.pub)\" >../signers; "
		"git config gpg.ssh.allowedSignersFile \"$PWD/../signers\"");
	repo = open_repo(dir);
	assert_ok(kl_repo_commit_write(&out, repo, &spec));
	sh(dir, "git verify-commit %s 2>/dev/null", git_oid_tostr_s(&out));
	assert_sh("signed", dir, "git log -1 --format=%%s %s", git_oid_tostr_s(&out));
	/* reproducible commits are never signed */
	spec.author = "R <r@example.com>";
	assert_ok(kl_repo_commit_write(&out, repo, &spec));
	assert_sh("0", dir, "git cat-file -p %s | grep -c gpgsig || :", git_oid_tostr_s(&out));
}

static void diffs(void **state)
{
	KL_AUTO(kl_freep) char *dir = scratch_repo("diffs");
	KL_AUTO(kl_freep) char *want = NULL;
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	KL_AUTO(kl_buf_release) struct kl_buf all = KL_BUF_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf one = KL_BUF_INIT;
	git_oid from, to, out;

	sh(dir,
	   "seq 1 40 >n.c; printf 'a\\0b' >bin; git add .; git commit -qm base; "
	   "sed -i -e s/^7$/seven/ -e s/^30$/x/ n.c; printf 'int f(void)\\n{\\n}\\n' >dir/f.c; "
	   "printf 'a\\0c' >bin; git rm -q a.txt; chmod +x dir/b.txt; git add .; git commit -qm next; "
	   "git config diff.noprefix true; git config diff.context 0");
	repo = open_repo(dir);
	from = oid_of(dir, "HEAD~1^{tree}");
	to = oid_of(dir, "HEAD^{tree}");
	assert_ok(kl_repo_diff(&all, repo, &from, &to, NULL));
	assert_ok(kl_repo_apply(&out, repo, &from, "", all.ptr, all.len));
	assert_true(git_oid_equal(&out, &to));
	assert_ok(kl_repo_diff(&one, repo, &from, &to, "dir"));
	want = sh_text(dir, "git diff-tree -p -r HEAD~1 HEAD -- dir");
	kl_buf_rtrim(&one);
	assert_string_equal(one.ptr, want);
	kl_buf_clear(&one);
	assert_ok(kl_repo_diff(&one, repo, &to, &to, NULL));
	assert_int_equal(one.len, 0);
}

static void patches(void **state)
{
	static const char patch[] = "--- a/b.txt\n+++ b/b.txt\n@@ -1 +1 @@\n-two\n+three\n";
	static const char escape[] = "--- a/../../x\n+++ b/../../x\n@@ -0,0 +1 @@\n+x\n";
	static const char dotgit[] = "--- /dev/null\n+++ b/.git/hooks/x\n@@ -0,0 +1 @@\n+x\n";
	KL_AUTO(kl_freep) char *dir = scratch_repo("patches");
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = open_repo(dir);
	KL_AUTO(kl_freep) char *status = sh_text(dir,
						 "git status --porcelain; sha256sum .git/index");
	git_oid tree = oid_of(dir, "HEAD^{tree}"), out;

	assert_ok(kl_repo_apply(&out, repo, &tree, "dir/", patch, strlen(patch)));
	assert_sh("three", dir, "git cat-file -p %s:dir/b.txt", git_oid_tostr_s(&out));
	assert_ok(kl_repo_apply(&out, repo, &tree, "dir", patch, strlen(patch)));
	assert_error(KL_ENO, "does not apply",
		     kl_repo_apply(&out, repo, &tree, "", patch, strlen(patch)));
	assert_error(KL_EINVALID, "not a patch",
		     kl_repo_apply(&out, repo, &tree, "", "hello\n", 6));
	assert_error(KL_EINVALID, "not a patch", kl_repo_apply(&out, repo, &tree, "", patch, 40));
	assert_int_not_equal(kl_repo_apply(&out, repo, &tree, "dir", escape, strlen(escape)), 0);
	assert_int_not_equal(kl_repo_apply(&out, repo, &tree, "", dotgit, strlen(dotgit)), 0);
	assert_sh(status, dir, "git status --porcelain; sha256sum .git/index");
}

static void bare_patches(void **state)
{
	static const char patch[] = "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+three\n";
	KL_AUTO(kl_freep) char *dir = scratch_repo("src");
	KL_AUTO(kl_freep) char *bare = kl_asprintf("%s/../src.git", dir);
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	git_oid tree = oid_of(dir, "HEAD^{tree}"), out;

	sh(dir, "git clone -q --bare . ../src.git");
	repo = open_repo(bare);
	assert_ok(kl_repo_apply(&out, repo, &tree, "", patch, strlen(patch)));
	assert_sh("three", bare, "git cat-file -p %s:a.txt", git_oid_tostr_s(&out));
}

static void touching(void **state)
{
	KL_AUTO(kl_freep) char *dir = scratch_repo("touching");
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = open_repo(dir);
	const char *const paths[] = { "dir" }, *const star[] = { "*" };
	KL_AUTO(kl_freep) git_oid *found = NULL, *none = NULL, *every = NULL;
	git_oid head;
	size_t n;

	sh(dir,
	   "echo 1 >a.txt; git commit -qam a; echo 2 >dir/b.txt; git commit -qam b; "
	   "git checkout -q -b side HEAD~1; echo 3 >dir/c.txt; git add .; git commit -qm side; "
	   "git checkout -q main; git merge -q -m merge side; echo 5 >a.txt; git commit -qam last");
	head = oid_of(dir, "HEAD");
	assert_ok(kl_repo_touching(&found, &n, repo, &head, paths, 1, 100));
	assert_int_equal(n, 3);
	assert_oid(dir, ":/merge", &found[0]);
	assert_oid(dir, "HEAD~2", &found[1]);
	assert_oid(dir, "HEAD~4", &found[2]);
	assert_ok(kl_repo_touching(&every, &n, repo, &head, NULL, 0, 2));
	assert_int_equal(n, 2);
	/* paths are names, not patterns, whatever the user's environment wants */
	setenv("GIT_GLOB_PATHSPECS", "1", 1);
	assert_ok(kl_repo_touching(&none, &n, repo, &head, star, 1, 100));
	unsetenv("GIT_GLOB_PATHSPECS");
	assert_int_equal(n, 0);
}

static size_t count_touching(struct kl_repo *repo, const char *dir, const char *rev)
{
	const char *const paths[] = { "dir" };
	KL_AUTO(kl_freep) git_oid *found = NULL;
	git_oid at = oid_of(dir, rev);
	size_t n;

	assert_ok(kl_repo_touching(&found, &n, repo, &at, paths, 1, 3));
	for (size_t i = 0; i < n; i++) {
		KL_AUTO(kl_freep) char *nth = kl_asprintf(
			"test $(git rev-list --first-parent %s -- dir | sed -n %zup) = %s", rev,
			i + 1, git_oid_tostr_s(&found[i]));

		sh(dir, nth);
	}
	return n;
}

/* what is known of a commit is right for later ones, and not used for others */
static void touching_again(void **state)
{
	KL_AUTO(kl_freep) char *dir = scratch_repo("touching-again");
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = open_repo(dir);

	assert_int_equal(count_touching(repo, dir, "HEAD"), 1);
	assert_int_equal(count_touching(repo, dir, "HEAD"), 1);
	sh(dir, "echo 1 >a.txt; git commit -qam a; echo 2 >dir/b.txt; git commit -qam b");
	assert_int_equal(count_touching(repo, dir, "HEAD"), 2);
	assert_int_equal(count_touching(repo, dir, "HEAD~1"), 1);
	/* a merge: the side is not on the line of first parents */
	sh(dir,
	   "git checkout -q -b side HEAD~1; echo 3 >dir/c.txt; git add .; git commit -qm side");
	assert_int_equal(count_touching(repo, dir, "side"), 2);
	sh(dir, "git checkout -q main; git merge -q -m merge side");
	assert_int_equal(count_touching(repo, dir, "main"), 3);
	sh(dir, "echo 9 >dir/b.txt; git commit -qam more; echo 8 >dir/b.txt; git commit -qam most");
	assert_int_equal(count_touching(repo, dir, "main"), 3);
	/* a shallow clone knows less than it will */
	sh(dir, "rm -r .git/klineage/cache; git rev-parse HEAD~1 >.git/shallow");
	assert_int_equal(count_touching(repo, dir, "main"), 2);
	sh(dir, "rm .git/shallow");
	assert_int_equal(count_touching(repo, dir, "main"), 3);
	/* nor is what was known before the clone became shallow */
	sh(dir, "git rev-parse HEAD~1 >.git/shallow");
	assert_int_equal(count_touching(repo, dir, "main"), 2);
	sh(dir, "rm .git/shallow");
	/* nor a file that lost lines, or one of a commit that is not here */
	assert_int_equal(count_touching(repo, dir, "main"), 3);
	sh(dir, "for f in .git/klineage/cache/touching-*; do sed -i 2,3d $f; done");
	assert_int_equal(count_touching(repo, dir, "main"), 3);
	sh(dir, "for f in .git/klineage/cache/touching-*; do sed -i 2s/^..../beef/ $f; done");
	assert_int_equal(count_touching(repo, dir, "main"), 3);
	/* a damaged file is asked for anew */
	sh(dir, "for f in .git/klineage/cache/touching-*; do chmod u+w $f; echo x >$f; done");
	assert_int_equal(count_touching(repo, dir, "main"), 3);
}

/* at a merge that took the paths from one side, the line follows that side */
static void line(void **state)
{
	KL_AUTO(kl_freep) char *dir = scratch_repo("line");
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = open_repo(dir);
	const char *const paths[] = { "dir" }, *const none_there[] = { "nothing" };
	KL_AUTO(kl_freep) git_oid *found = NULL, *both = NULL, *none = NULL;
	git_oid head;
	size_t n;

	sh(dir,
	   "echo 2 >dir/b.txt; git commit -qam b; git checkout -q -b side; "
	   "echo 3 >dir/c.txt; git add .; git commit -qm side; echo 4 >dir/c.txt; git commit -qam side2; "
	   "git checkout -q main; echo 1 >a.txt; git commit -qam a; git merge -q -m merge side");
	head = oid_of(dir, "HEAD");
	assert_ok(kl_repo_line(&found, &n, repo, &head, paths, 1));
	assert_int_equal(n, 4);
	assert_oid(dir, "side", &found[0]);
	assert_oid(dir, "side~1", &found[1]);
	assert_oid(dir, "side~2", &found[2]);
	assert_oid(dir, "side~3", &found[3]);
	/* both sides changed them: the merge, then its first parents */
	sh(dir, "git checkout -q -b other side~1; echo 5 >dir/b.txt; git commit -qam other; "
		"git checkout -q main; git merge -q -m merge2 other");
	head = oid_of(dir, "HEAD");
	assert_ok(kl_repo_line(&both, &n, repo, &head, paths, 1));
	assert_int_equal(n, 5);
	assert_oid(dir, ":/merge2", &both[0]);
	assert_oid(dir, "side", &both[1]);
	assert_ok(kl_repo_line(&none, &n, repo, &head, none_there, 1));
	assert_int_equal(n, 0);
}

static void renames(void **state)
{
	KL_AUTO(kl_freep) char *dir = scratch_repo("renames");
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = open_repo(dir);
	const char *const paths[] = { "dir/new.c", "a.txt" };
	KL_AUTO(kl_freep) git_oid *creating = NULL;
	char *former = NULL;
	git_oid head, from, to;
	size_t n;

	sh(dir,
	   "seq 100 >old.c; git add .; git commit -qm old; git config log.follow true; "
	   "git mv old.c dir/new.c; echo more >>dir/new.c; echo x >>a.txt; git add .; git commit -qm renamed; "
	   "echo more >>dir/new.c; git commit -qam last");
	head = oid_of(dir, "HEAD");
	assert_ok(kl_repo_creating(&creating, &n, repo, &head, paths, 2));
	assert_int_equal(n, 2);
	assert_oid(dir, "HEAD~1", &creating[0]);
	from = oid_of(dir, "HEAD~2^{tree}");
	to = oid_of(dir, "HEAD~1^{tree}");
	assert_ok(kl_repo_former_path(&former, repo, &from, &to, "dir/new.c"));
	assert_string_equal(former, "old.c");
	free(former);
	assert_ok(kl_repo_former_path(&former, repo, &from, &to, "a.txt"));
	assert_null(former);
}

static void touching_long(void **state)
{
	KL_AUTO(kl_freep) char *dir = scratch_dir("long");
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	const char *const paths[] = { "k/rare.c" };
	KL_AUTO(kl_freep) git_oid *found = NULL;
	git_oid head;
	size_t n;
	int64_t start;

	sh(dir,
	   "git init -q -b main .; awk 'BEGIN { for (i = 1; i <= 20000; i++) { "
	   "printf \"commit refs/heads/main\\nmark :%%d\\ncommitter C <c@d> %%d +0000\\ndata 1\\nx\", i, i; "
	   "if (i > 1) printf \"\\nfrom :%%d\", i - 1; f = i %% 4000 ? \"other\" : \"rare\"; "
	   "printf \"\\nM 100644 inline k/%%s.c\\ndata %%d\\n%%d\\n\", f, length(i \"\"), i } }' "
	   "| git fast-import --quiet");
	repo = open_repo(dir);
	head = oid_of(dir, "main");
	start = kl_clock_ns();
	assert_ok(kl_repo_touching(&found, &n, repo, &head, paths, 1, 1000));
	assert_int_equal(n, 5);
	assert_oid(dir, "main", &found[0]);
	print_message("5 of 20000 commits touch the path: %.3f s\n",
		      (double)(kl_clock_ns() - start) / 1e9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(resolve),        cmocka_unit_test(trees),
		cmocka_unit_test(edits),          cmocka_unit_test(commits),
		cmocka_unit_test(signed_commits), cmocka_unit_test(diffs),
		cmocka_unit_test(patches),        cmocka_unit_test(bare_patches),
		cmocka_unit_test(touching),       cmocka_unit_test(touching_again),
		cmocka_unit_test(touching_long),  cmocka_unit_test(line),
		cmocka_unit_test(renames),
	};

	return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
