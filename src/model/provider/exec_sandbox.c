/* SPDX-License-Identifier: Apache-2.0 */
#include "model/provider/exec_sandbox.h"

#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fs.h"
#include "base/proc.h"

#define PROBE_MS 10000
#define MAX_LINK 8192
#define MAX_ALTERNATES (1u << 16)

/*
 * --- the directories to hide ---------------------------------------------------------
 */

static void add_real(struct kl_strvec *out, const char *path)
{
	char *real = path ? realpath(path, NULL) : NULL;

	if (real)
		kl_strvec_push(out, real);
	free(real);
}

/*
 * Add a temporary directory if this user owns it; directories of other users can vanish before they
 * are hidden.
 */
static void add_dir(struct kl_strvec *out, const char *path)
{
	struct stat st;

	if (!lstat(path, &st) && S_ISDIR(st.st_mode) && st.st_uid == geteuid())
		add_real(out, path);
}

/* Add the linked worktree of an admin directory, whose `gitdir` file contains "/path/.git". */
static void add_worktree(struct kl_strvec *out, const char *admin)
{
	KL_AUTO(kl_freep) char *file = kl_fs_join(admin, "gitdir");
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	char *slash;

	if (kl_fs_read(&text, file, MAX_LINK) < 0) {
		kl_error_clear();
		return;
	}
	kl_buf_rtrim(&text);
	slash = strrchr(text.ptr, '/');
	if (!slash)
		return;
	*slash = '\0';
	add_real(out, text.ptr);
}

/* Call `add` for each entry of the directory `dir` that has `part` in its name. */
static void each_below(struct kl_strvec *out, const char *dir, const char *part,
		       void (*add)(struct kl_strvec *out, const char *path))
{
	DIR *handle = opendir(dir);
	struct dirent *entry;

	while (handle && (entry = readdir(handle))) {
		KL_AUTO(kl_freep) char *path = kl_fs_join(dir, entry->d_name);

		if (*entry->d_name != '.' && strstr(entry->d_name, part))
			add(out, path);
	}
	if (handle)
		closedir(handle);
}

/*
 * Add the worktree that the repository was created with, if its git directory is "<worktree>/.git":
 * this process may run in a linked worktree.
 */
static void add_main_worktree(struct kl_strvec *out, const char *common)
{
	KL_AUTO(kl_freep) char *dir = kl_strdup(common);
	char *slash;

	for (size_t n = strlen(dir); n > 1 && dir[n - 1] == '/'; n--)
		dir[n - 1] = '\0';
	slash = strrchr(dir, '/');
	if (!slash || slash == dir || strcmp(slash, "/.git"))
		return;
	*slash = '\0';
	add_real(out, dir);
}

/* Add the object directories that the repository borrows objects from, one path a line. */
static void add_alternates(struct kl_strvec *out, const char *common)
{
	KL_AUTO(kl_freep) char *objects = kl_fs_join(common, "objects");
	KL_AUTO(kl_freep) char *file = kl_fs_join(objects, "info/alternates");
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;

	if (kl_fs_read(&text, file, MAX_ALTERNATES) < 0) {
		kl_error_clear();
		return;
	}
	for (char *line = text.ptr, *end; *line; line = end) {
		KL_AUTO(kl_freep) char *path = NULL;

		end = line + strcspn(line, "\n");
		if (*end)
			*end++ = '\0';
		path = *line == '/' ? kl_strdup(line) : kl_fs_join(objects, line);
		if (*line && *line != '#')
			add_real(out, path);
	}
}

/* Add the directory of the lineages and cards that are installed with the program. */
static void add_shipped(struct kl_strvec *out)
{
	KL_AUTO(kl_freep) char *skills = NULL;

	if (kl_fs_share(&skills, "skills") < 0)
		kl_error_clear();
	else
		add_real(out, skills);
}

static void collect_hidden(struct kl_strvec *out, struct kl_repo *repo)
{
	KL_AUTO(kl_freep) char *linked = kl_fs_join(kl_repo_common_dir(repo), "worktrees");
	/* part of the names that kl_fs_tempdir() makes */
	KL_AUTO(kl_freep) char *ours = kl_asprintf("-%d-", (int)getpid());
	const char *tmp = getenv("TMPDIR");

	add_real(out, kl_repo_worktree(repo));
	add_real(out, kl_repo_common_dir(repo));
	add_real(out, kl_repo_git_dir(repo));
	add_main_worktree(out, kl_repo_common_dir(repo));
	add_alternates(out, kl_repo_common_dir(repo));
	add_shipped(out);
	each_below(out, linked, "", add_worktree);
	each_below(out, tmp && *tmp == '/' ? tmp : "/tmp", ours, add_dir);
	kl_strvec_uniq(out);
}

/*
 * --- conditions -------------------------------------------------------------------------
 */

/* Return true if `path` is `top` or below it. */
static bool is_in(const char *path, const char *top)
{
	size_t n = strlen(top);

	return !strncmp(path, top, n) && (!path[n] || path[n] == '/' || n == 1);
}

static bool names_path(const char *command, const char *path)
{
	const char *at = command;

	while ((at = strstr(at, path))) {
		at += strlen(path);
		if (!isalnum((unsigned char)*at) && !strchr("._-", *at))
			return true;
	}
	return false;
}

/* Return true if hiding `path` could make the command fail. */
static bool is_needed(const char *path, const char *command)
{
	KL_AUTO(kl_freep) char *home = getenv("HOME") ? realpath(getenv("HOME"), NULL) : NULL;

	return !strcmp(path, "/") || (home && is_in(home, path)) || names_path(command, path);
}

/* Return true if bubblewrap works: run /bin/true in it with the arguments `argv`. */
static bool sandbox_works(const struct kl_strvec *argv)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec try = KL_STRVEC_INIT;
	KL_AUTO(kl_buf_release) struct kl_buf out = KL_BUF_INIT, said = KL_BUF_INIT;
	struct kl_proc_result res;
	struct kl_proc_opts opts = {
		.out = &out, .err = &said, .max_output = 4096, .timeout_ms = PROBE_MS
	};

	kl_strvec_pushv(&try, (const char *const *)argv->v);
	kl_strvec_push(&try, "/bin/true");
	opts.argv = (const char *const *)try.v;
	if (kl_proc_run(&res, &opts) < 0) {
		kl_error_clear();
		return false;
	}
	return !res.timed_out && !res.signal && !res.exit;
}

/* Return true if entry `i` is inside another hidden directory, and therefore hidden with it. */
static bool is_nested(const struct kl_strvec *hidden, size_t i)
{
	for (size_t k = 0; k < hidden->n; k++)
		if (k != i && is_in(hidden->v[i], hidden->v[k]))
			return true;
	return false;
}

/*
 * The capabilities with which root could undo the hiding. Bubblewrap does not drop them by itself.
 */
static const char *const revealing[] = { "CAP_SYS_ADMIN",  "CAP_DAC_READ_SEARCH", "CAP_SYS_PTRACE",
					 "CAP_SYS_CHROOT", "CAP_MKNOD",           "CAP_SYS_RAWIO",
					 "CAP_SYS_MODULE" };

static void add_words(struct kl_strvec *argv, const struct kl_strvec *hidden, const char *dir)
{
	static const char *const fixed[] = { "bwrap", "--die-with-parent", "--dev-bind", "/",
					     "/",     "--unshare-pid",     "--proc",     "/proc",
					     NULL };

	kl_strvec_pushv(argv, fixed);
	for (size_t i = 0; i < KL_ARRAY_SIZE(revealing); i++) {
		kl_strvec_push(argv, "--cap-drop");
		kl_strvec_push(argv, revealing[i]);
	}
	for (size_t i = 0; i < hidden->n; i++) {
		if (is_nested(hidden, i))
			continue;
		kl_strvec_push(argv, "--tmpfs");
		kl_strvec_push(argv, hidden->v[i]);
	}
	kl_strvec_pushv(argv,
			(const char *const[]){ "--bind", dir, dir, "--chdir", dir, "--", NULL });
}

int kl_hide_prefix(struct kl_strvec *argv, struct kl_repo *repo, const char *dir,
		   const char *command)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec hidden = KL_STRVEC_INIT;
	bool wanted;
	int err;

	if (!repo)
		return 0;
	if ((err = kl_repo_config_bool(&wanted, repo, "klineage.chat.hide", true)) < 0 || !wanted)
		return err;
	collect_hidden(&hidden, repo);
	for (size_t i = 0; i < hidden.n; i++)
		if (is_needed(hidden.v[i], command))
			return 0;
	add_words(argv, &hidden, dir);
	if (!sandbox_works(argv))
		kl_strvec_release(argv);
	return 0;
}
