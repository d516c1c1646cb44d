/* SPDX-License-Identifier: Apache-2.0 */
#include "base/fs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/vec.h"

char *kl_fs_join(const char *left, const char *right)
{
	size_t n = strlen(left);

	if (!n)
		return kl_strdup(right);
	return kl_asprintf("%s%s%s", left, left[n - 1] == '/' ? "" : "/", right);
}

char *kl_fs_resolve(const char *dir, const char *path)
{
	KL_AUTO(kl_freep) char *full = *path == '/' ? kl_strdup(path) :
						      kl_asprintf("%s/%s", dir, path);
	KL_AUTO(kl_strvec_release) struct kl_strvec parts = KL_STRVEC_INIT;
	struct kl_buf out = KL_BUF_INIT;
	size_t n = 0;

	kl_strvec_split(&parts, full, "/");
	for (size_t i = 0; i < parts.n; i++) {
		char *part = parts.v[i];

		if (!strcmp(part, ".."))
			n -= n > 0;
		else if (strcmp(part, ".")) {
			char *other = parts.v[n];

			parts.v[n++] = part;
			parts.v[i] = other;
		}
	}
	for (size_t i = 0; i < n; i++)
		kl_buf_addf(&out, "/%s", parts.v[i]);
	if (!n)
		kl_buf_adds(&out, "/");
	return kl_buf_detach(&out);
}

const char *kl_fs_below(const char *dir, const char *path)
{
	size_t n = strlen(dir);

	if (strncmp(path, dir, n) || (path[n] && path[n] != '/'))
		return NULL;
	return path[n] ? path + n + 1 : path + n;
}

bool kl_fs_exists(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0;
}

bool kl_fs_is_dir(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

int kl_fs_read(struct kl_buf *out, const char *path, size_t max)
{
	/* O_NONBLOCK, so that open() does not hang if `path` is a FIFO */
	KL_AUTO(kl_closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	int err;

	if (fd < 0)
		return kl_error_errno("cannot open '%s'", path);
	if (fstat(fd, &st) < 0)
		return kl_error_errno("cannot stat '%s'", path);
	if (!S_ISREG(st.st_mode))
		return kl_error(KL_EINVALID, "'%s' is not a regular file", path);
	err = kl_buf_read_fd(out, fd, max);
	return err < 0 ? kl_error_in(err, "'%s'", path) : 0;
}

int kl_fs_open_below(const char *root, const char *path, int flags)
{
	KL_AUTO(kl_freep) char *copy = kl_strdup(path);
	KL_AUTO(kl_closep) int at = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	char *part = copy, *slash;

	while (at >= 0 && (slash = strchr(part, '/'))) {
		int next;

		*slash = '\0';
		next = openat(at, part, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		close(at);
		at = next;
		part = slash + 1;
	}
	if (at < 0)
		return -1;
	return openat(at, part, flags | O_NOFOLLOW | O_CLOEXEC);
}

static int write_all(int fd, const void *data, size_t n)
{
	const char *at = data;

	while (n) {
		ssize_t done = write(fd, at, n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return -1;
		at += done;
		n -= (size_t)done;
	}
	return 0;
}

static int sync_dir_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	KL_AUTO(kl_freep) char *dir = !slash        ? kl_strdup(".") :
				      slash == path ? kl_strdup("/") :
						      kl_strndup(path, (size_t)(slash - path));
	KL_AUTO(kl_closep) int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 || fsync(fd) < 0)
		return kl_error_errno("cannot sync directory '%s'", dir);
	return 0;
}

int kl_fs_write(const char *path, const void *data, size_t n)
{
	return kl_fs_write_mode(path, data, n, 0666);
}

int kl_fs_write_mode(const char *path, const void *data, size_t n, unsigned mode)
{
	KL_AUTO(kl_freep) char *tmp = kl_asprintf("%s.tmp-XXXXXX", path);
	KL_AUTO(kl_closep) int fd = mkostemp(tmp, O_CLOEXEC);
	mode_t mask;

	if (fd < 0)
		return kl_error_errno("cannot create a temporary file next to '%s'", path);
	mask = umask(0);
	umask(mask);
	if (fchmod(fd, mode & ~mask) < 0 || write_all(fd, data, n) < 0 || fsync(fd) < 0 ||
	    rename(tmp, path) < 0) {
		int err = errno;

		unlink(tmp);
		errno = err;
		return kl_error_errno("cannot write '%s'", path);
	}
	return sync_dir_of(path);
}

/* Do not use kl_fs_write() for a device such as /dev/null: its rename would replace the device. */
int kl_fs_write_output(const char *path, const void *data, size_t n)
{
	struct stat st;

	if (!stat(path, &st) && (S_ISCHR(st.st_mode) || S_ISFIFO(st.st_mode)))
		return kl_fs_put(path, data, n, 0666);
	return kl_fs_write(path, data, n);
}

int kl_fs_put(const char *path, const void *data, size_t n, int mode)
{
	KL_AUTO(kl_closep) int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);

	if (fd < 0 || write_all(fd, data, n) < 0)
		return kl_error_errno("cannot write '%s'", path);
	return 0;
}

int kl_fs_mkdir(const char *path)
{
	KL_AUTO(kl_freep) char *dir = kl_strdup(path);

	for (char *ch = dir + 1; *ch; ch++) {
		if (*ch != '/')
			continue;
		*ch = '\0';
		if (mkdir(dir, 0777) < 0 && errno != EEXIST)
			return kl_error_errno("cannot create directory '%s'", dir);
		*ch = '/';
	}
	if (mkdir(dir, 0777) < 0 && errno != EEXIST)
		return kl_error_errno("cannot create directory '%s'", dir);
	if (!kl_fs_is_dir(path))
		return kl_error(KL_EEXISTS, "'%s' exists and is not a directory", path);
	return 0;
}

int kl_fs_mkdir_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash || slash == path)
		return 0;
	KL_AUTO(kl_freep) char *dir = kl_strndup(path, (size_t)(slash - path));
	return kl_fs_mkdir(dir);
}

/*
 * Remove the tree `name` in the directory `at`. Directories are opened by descriptor and without
 * following symlinks, so that no other process can lead us out of the tree by replacing a directory
 * with a symlink.
 */
static int remove_at(int at, const char *name)
{
	struct dirent *entry;
	DIR *dir;
	int fd, bad = 0;

	if (unlinkat(at, name, 0) == 0 || errno == ENOENT)
		return 0;
	if (errno != EISDIR && errno != EPERM)
		return -1;
	fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -1;
	dir = fdopendir(fd);
	if (!dir) {
		close(fd);
		return -1;
	}
	while ((entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..") &&
		    remove_at(fd, entry->d_name) < 0)
			bad = -1;
	closedir(dir);
	if (bad < 0)
		return -1;
	return unlinkat(at, name, AT_REMOVEDIR);
}

int kl_fs_remove(const char *path)
{
	if (remove_at(AT_FDCWD, path) < 0)
		return kl_error_errno("cannot remove '%s'", path);
	return 0;
}

int kl_fs_tempdir(char **out, const char *prefix)
{
	const char *base = getenv("TMPDIR");
	KL_AUTO(kl_freep) char *path = kl_asprintf(
		"%s/%s-%d-XXXXXX", base && *base == '/' ? base : "/tmp", prefix, (int)getpid());

	if (!mkdtemp(path))
		return kl_error_errno("cannot create temporary directory '%s'", path);
	*out = kl_steal(&path);
	return 0;
}

void kl_fs_tempdir_cleanup(char **dir)
{
	if (!*dir)
		return;
	if (kl_fs_remove(*dir) < 0)
		/* not an error, because only a temporary directory is left behind */
		kl_error_clear();
	free(*dir);
	*dir = NULL;
}

int kl_fs_list(struct kl_strvec *out, const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *entry;

	if (!dir)
		return kl_error_errno("cannot list '%s'", path);
	while ((entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			kl_strvec_push(out, entry->d_name);
	closedir(dir);
	kl_strvec_sort(out);
	return 0;
}

static bool part_ok(const char *text, size_t n)
{
	if (n == 0 || n > 255)
		return false;
	if ((n == 1 && text[0] == '.') || (n == 2 && text[0] == '.' && text[1] == '.'))
		return false;
	return !(n == 4 && !strncasecmp(text, ".git", 4));
}

bool kl_fs_path_ok(const char *path)
{
	size_t len = strlen(path);

	if (len == 0 || len > 4096)
		return false;
	for (const char *at = path; *at; at++)
		if ((unsigned char)*at < 32 || *at == 127 || *at == '\\')
			return false;
	for (const char *at = path;;) {
		size_t n = strcspn(at, "/");

		if (!part_ok(at, n))
			return false;
		if (!at[n])
			return true;
		at += n + 1;
	}
}

/* Return the directory of the running program, or NULL if it is unknown. The caller frees it. */
static char *own_dir(void)
{
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash;

	if (n <= 0)
		return NULL;
	self[n] = '\0';
	slash = strrchr(self, '/');
	if (!slash)
		return NULL;
	*slash = '\0';
	return kl_strdup(self);
}

/* Set *out to the first of `n` candidate paths that exists, and free the others. */
static int first_there(char **out, const char *what, char **path, size_t n)
{
	char *found = NULL;

	for (size_t i = 0; i < n; i++) {
		if (!found && path[i] && kl_fs_exists(path[i]))
			found = path[i];
		else
			free(path[i]);
	}
	if (!found)
		return kl_error(
			KL_ENOTFOUND,
			"cannot find '%s', which is part of git-klineage; set KLINEAGE_SHARE, or "
			"build and install again",
			what);
	*out = found;
	return 0;
}

int kl_fs_share(char **out, const char *relative)
{
	const char *env = getenv("KLINEAGE_SHARE");
	KL_AUTO(kl_freep) char *dir = own_dir();
	char *path[4] = { NULL };

	if (env && *env)
		path[0] = kl_fs_join(env, relative);
	else if (dir) /* build/git-klineage in a checkout */
		path[0] = kl_asprintf("%s/../%s", dir, relative);
	path[1] = dir ? kl_asprintf("%s/../share/git-klineage/%s", dir, relative) : NULL;
	path[2] = kl_fs_join(KL_SHARE, relative);
	/* if we run from build/tests */
	path[3] = dir ? kl_asprintf("%s/../../%s", dir, relative) : NULL;
	return first_there(out, relative, path, 4);
}

int kl_fs_program(char **out, const char *name)
{
	KL_AUTO(kl_freep) char *dir = own_dir();
	char *path[4] = {
		dir ? kl_fs_join(dir, name) : NULL,
		dir ? kl_asprintf("%s/../libexec/git-klineage/%s", dir, name) : NULL,
		dir ? kl_asprintf("%s/../%s", dir, name) : NULL, /* if we run from build/tests */
		kl_fs_join(KL_LIBEXEC, name),
	};

	return first_there(out, name, path, 4);
}
