/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/init_template.h"
#include "cmd/sign_offer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/fault.h"
#include "base/fs.h"
#include "base/proc.h"
#include "base/scratch.h"
#include "lineage/starter.h"
#include "repo/refs.h"
#include "repo/remote.h"
#include "sync/sync.h"

#define SCRATCH ".klineage-init"
/* file that names the template whose files are not checked out yet */
#define MARK ".git/klineage-template"

/* --- remotes ------------------------------------------------------------------- */

void kl_init_offer_remotes(struct kl_repo *repo)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec remotes = KL_STRVEC_INIT;

	kl_remote_names(&remotes, repo);
	for (size_t i = 0; i < remotes.n; i++) {
		KL_AUTO(kl_strvec_release) struct kl_strvec have = KL_STRVEC_INIT,
							    all = KL_STRVEC_INIT;

		kl_sync_refspecs(&all, remotes.v[i]);
		if (kl_sync_configured(&have, repo, remotes.v[i]) < 0 || have.n == all.n)
			continue;
		printf("\nto exchange lineages, cards and gate events with '%s':\n  git "
		       "klineage sync %s\nto fetch them with a plain 'git fetch' as well: "
		       "git klineage sync --setup %s\n  which adds to the configuration "
		       "of '%s' (--unsetup removes it):\n",
		       remotes.v[i], remotes.v[i], remotes.v[i], remotes.v[i]);
		for (size_t k = 0; k < all.n; k++)
			if (!kl_strvec_has(&have, all.v[k]))
				printf("\tfetch = %s\n", all.v[k]);
	}
	kl_error_clear();
}

/* --- a folder in a repository ---------------------------------------------------- */

static int run_git(const char *const *argv)
{
	return kl_proc_output(NULL, argv);
}

/*
 * Add the template to the current repository: write commits on top of HEAD, then fast-forward to
 * them. Git refuses to fast-forward if files are in the way.
 */
static int add_folder(struct kl_repo *repo, const struct kl_starter *starter, const char *dir)
{
	KL_AUTO(kl_freep) char *prefix = kl_asprintf("%s%s", kl_repo_prefix(repo), dir);
	git_oid head, tip, entry, tree;
	bool unborn;
	char hex[KL_OID_HEX];
	int err;

	if (!kl_fs_path_ok(prefix))
		return kl_error(KL_EINVALID, "invalid directory '%s'", prefix);
	if (kl_repo_is_bare(repo))
		return kl_error(KL_EINVALID, "cannot add '%s' to a bare repository", dir);
	err = kl_repo_resolve(&head, repo, "HEAD");
	unborn = err == KL_ENOTFOUND;
	if (err < 0 && !unborn)
		return err;
	kl_error_clear();
	if (!unborn && kl_repo_tree_of(&tree, repo, &head) == 0 &&
	    kl_repo_tree_entry(&entry, NULL, repo, &tree, prefix) == 0)
		return kl_error(KL_EEXISTS, "'%s' already exists in HEAD", prefix);
	kl_error_clear();
	err = kl_starter_replay(&tip, repo, starter, unborn ? NULL : &head, prefix, 0);
	if (err < 0)
		return err;
	kl_oid_hex(hex, &tip);
	err = run_git((const char *[]){ "git", "-c", "merge.verifySignatures=false", "merge", "-q",
					"--ff-only", hex, NULL });
	if (err < 0)
		return err;
	printf("%s: added %zu commits of '%s' to the current branch\n", dir, starter->patches.n,
	       starter->name);
	kl_init_offer_remotes(repo);
	kl_sign_offer(repo);
	return 0;
}

/* --- a new repository ----------------------------------------------------------- */

/* Create the whole repository in an empty directory that no other process uses. */
static int build_repository(const struct kl_starter *starter, const char *at)
{
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	char hex[KL_OID_HEX];
	git_oid tip;
	int err = run_git(
		(const char *[]){ "git", "init", "-q", "--object-format=sha1", at, NULL });

	if (!err)
		err = kl_repo_open_at(&repo, at);
	if (!err)
		err = kl_starter_replay(&tip, repo, starter, NULL, "", 0);
	if (err < 0)
		return err;
	kl_oid_hex(hex, &tip);
	return run_git((const char *[]){ "git", "-C", at, "reset", "-q", "--hard", hex, NULL });
}

static int move_to(const char *from, const char *to)
{
	int err = KL_FAULT("init-move");

	if (!err && rename(from, to) < 0)
		return kl_error_errno("cannot rename '%s' to '%s'", from, to);
	return err < 0 ? err : KL_FAULT("init-moved");
}

static char *parent_of(const char *dir)
{
	const char *end = dir + strlen(dir);

	while (end > dir && end[-1] == '/')
		end--;
	while (end > dir && end[-1] != '/')
		end--;
	return end > dir ? kl_strndup(dir, (size_t)(end - dir)) : kl_strdup(".");
}

/* Create the repository under another name and rename it to `dir`, which does not exist yet. */
static int make_directory(const struct kl_starter *starter, const char *dir)
{
	KL_AUTO(kl_scratch_release) struct kl_scratch scratch = KL_SCRATCH_INIT;
	KL_AUTO(kl_freep) char *parent = parent_of(dir), *made = NULL;
	int err = kl_fs_mkdir(parent);

	if (!err)
		err = kl_scratch_open_in(&scratch, parent, SCRATCH);
	if (err < 0)
		return err;
	made = kl_fs_join(scratch.path, "new");
	err = build_repository(starter, made);
	return err < 0 ? err : move_to(made, dir);
}

/*
 * Check out the files of the index, then remove MARK, which says that they are not checked out. The
 * index is complete. Do not write it, because git refuses to write an index whose lock a killed
 * call has left behind.
 */
static int finish_checkout(const char *dir)
{
	KL_AUTO(kl_freep) char *mark = kl_fs_join(dir, MARK);
	int err = run_git(
		(const char *[]){ "git", "-C", dir, "checkout-index", "-q", "-f", "-a", NULL });

	if (!err)
		err = KL_FAULT("init-checked-out");
	return err < 0 ? err : kl_fs_remove(mark);
}

static int fill_directory(const struct kl_starter *starter, const char *dir,
			  const struct kl_scratch *scratch)
{
	KL_AUTO(kl_freep) char *made = kl_fs_join(scratch->path, "new");
	KL_AUTO(kl_freep) char *mark = kl_fs_join(made, MARK);
	KL_AUTO(kl_freep) char *from = kl_fs_join(made, ".git"), *to = kl_fs_join(dir, ".git");
	int err = build_repository(starter, made);

	if (!err)
		err = kl_fs_write(mark, starter->name, strlen(starter->name));
	return err < 0 ? err : move_to(from, to);
}

/* Return true if an earlier call for this template was killed before it checked out the files. */
static bool is_unfinished(const struct kl_starter *starter, const char *dir)
{
	KL_AUTO(kl_freep) char *mark = kl_fs_join(dir, MARK);
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	bool there = !kl_fs_read(&text, mark, 256) && !strcmp(text.ptr, starter->name);

	kl_error_clear();
	return there;
}

/* Return true if the directory is empty, except for the scratch directory of this call. */
static bool is_empty(const char *dir, const struct kl_scratch *scratch)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec there = KL_STRVEC_INIT;
	const char *slash = strrchr(scratch->path, '/');

	return kl_fs_list(&there, dir) == 0 && there.n == 1 && !strcmp(there.v[0], slash + 1);
}

/*
 * Create the repository in an empty directory. If a killed call left the directory unfinished,
 * finish it.
 */
static int use_directory(const struct kl_starter *starter, const char *dir)
{
	KL_AUTO(kl_scratch_release) struct kl_scratch scratch = KL_SCRATCH_INIT;
	int err;

	if (!kl_fs_is_dir(dir))
		return kl_error(KL_EEXISTS, "'%s' already exists and is not an empty directory",
				dir);
	/* this also removes the scratch directory of a call that was killed */
	if ((err = kl_scratch_open_in(&scratch, dir, SCRATCH)) < 0)
		return err;
	if (!is_unfinished(starter, dir)) {
		if (!is_empty(dir, &scratch))
			return kl_error(KL_EEXISTS,
					"'%s' already exists and is not an empty directory", dir);
		err = fill_directory(starter, dir, &scratch);
	}
	/* If the process is killed here, MARK tells the next call to remove the scratch directory. */
	kl_scratch_release(&scratch);
	return err < 0 ? err : finish_checkout(dir);
}

static int make_repository(const struct kl_starter *starter, const char *dir)
{
	int err = kl_fs_exists(dir) ? use_directory(starter, dir) : make_directory(starter, dir);

	if (err < 0)
		return err;
	printf("%s: created a repository with the %zu commits of '%s'\n", dir, starter->patches.n,
	       starter->name);
	return 0;
}

int kl_init_template(const char *name, const char *dir)
{
	KL_AUTO(kl_starter_freep) struct kl_starter *starter = NULL;
	KL_AUTO(kl_repo_freep) struct kl_repo *repo = NULL;
	int err = kl_starter_open(&starter, name);

	if (err < 0)
		return err;
	if (!dir)
		dir = starter->name;
	/* an absolute path, or a path that leaves the current repository, names a new repository */
	if (dir[0] != '/' && kl_fs_path_ok(dir)) {
		bool ignored = false;

		err = kl_repo_open(&repo);
		if (!err)
			err = kl_repo_ignores_dir(&ignored, repo, dir);
		if (!err && !ignored)
			return add_folder(repo, starter, dir);
		if (err < 0 && err != KL_ENOTFOUND)
			return err;
		kl_error_clear();
	}
	return make_repository(starter, dir);
}
