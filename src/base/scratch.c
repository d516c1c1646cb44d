/* SPDX-License-Identifier: Apache-2.0 */
#include "base/scratch.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fs.h"
#include "base/mem.h"
#include "base/vec.h"

#define RANDOM 6 /* number of characters that mkdtemp() replaces */
#define MAX_TRIES 20

/* Return true if `name` has the form "<prefix>-<pid>-XXXXXX". */
static bool is_scratch(const char *name, const char *prefix)
{
	size_t n = strlen(prefix), digits;

	if (strncmp(name, prefix, n) || name[n] != '-')
		return false;
	name += n + 1;
	digits = strspn(name, "0123456789");
	return digits && name[digits] == '-' && strlen(name + digits + 1) == RANDOM;
}

/*
 * Open a directory of this user. Return -1 for anything else, such as a symlink or FIFO that was
 * put in its place.
 */
static int open_own(const char *path)
{
	KL_AUTO(kl_closep)
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;
	int own;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISDIR(st.st_mode) || st.st_uid != geteuid())
		return -1;
	own = fd;
	fd = -1;
	return own;
}

/*
 * Remove the directory unless its process still holds the lock. The lock is reliable across pid
 * namespaces, too, where the pid in the name can belong to another process.
 */
static void remove_abandoned(const char *path)
{
	KL_AUTO(kl_closep) int fd = open_own(path);

	if (fd >= 0 && !flock(fd, LOCK_EX | LOCK_NB) && kl_fs_remove(path) < 0)
		kl_error_clear();
}

static void tidy(const char *base, const char *prefix)
{
	KL_AUTO(kl_strvec_release) struct kl_strvec names = KL_STRVEC_INIT;

	if (kl_fs_list(&names, base) < 0)
		kl_error_clear();
	for (size_t i = 0; i < names.n; i++) {
		KL_AUTO(kl_freep) char *path = NULL;

		if (!is_scratch(names.v[i], prefix))
			continue;
		path = kl_fs_join(base, names.v[i]);
		remove_abandoned(path);
	}
}

/*
 * Create and lock a directory. If another process removed the directory as abandoned before we
 * locked it, return 0 and leave *out unset.
 */
static int try_open(struct kl_scratch *out, const char *base, const char *prefix)
{
	KL_AUTO(kl_freep) char *path = kl_asprintf("%s/%s-%d-XXXXXX", base, prefix, (int)getpid());
	KL_AUTO(kl_closep) int fd = -1;
	struct stat here, there;

	if (!mkdtemp(path))
		return kl_error_errno("cannot create temporary directory '%s'", path);
	fd = open_own(path);
	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0 || fstat(fd, &here) < 0 ||
	    stat(path, &there) < 0 || here.st_ino != there.st_ino)
		return 0;
	*out = (struct kl_scratch){ .path = kl_steal(&path), .fd = fd };
	fd = -1;
	return 0;
}

int kl_scratch_open_in(struct kl_scratch *out, const char *base, const char *prefix)
{
	tidy(base, prefix);
	*out = (struct kl_scratch)KL_SCRATCH_INIT;
	for (int i = 0; i < MAX_TRIES; i++) {
		int err = try_open(out, base, prefix);

		if (err < 0 || out->path)
			return err;
	}
	return kl_error(KL_EIO, "cannot lock a temporary directory in '%s'", base);
}

int kl_scratch_open(struct kl_scratch *out, const char *prefix)
{
	const char *base = getenv("TMPDIR");

	return kl_scratch_open_in(out, base && *base == '/' ? base : "/tmp", prefix);
}

void kl_scratch_release(struct kl_scratch *scratch)
{
	kl_fs_tempdir_cleanup(&scratch->path);
	kl_closep(&scratch->fd);
}
