/* SPDX-License-Identifier: Apache-2.0 */
#include "base/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/proc.h"

/*
 * Open the lock file, first without O_CREAT, because in a sticky world-writable directory Linux
 * refuses to open another user's file with O_CREAT (fs.protected_regular). flock() does not need
 * write access. With O_NONBLOCK, if the file is a FIFO, open() does not wait for its other end.
 */
static int open_lock(const char *path)
{
	const int flags = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
	int fd = open(path, O_RDONLY | flags);

	if (fd < 0 && errno == ENOENT) {
		fd = open(path, O_RDWR | O_CREAT | O_EXCL | flags, 0666);
		if (fd >= 0)
			(void)!fchmod(fd, 0666);
		else if (errno == EEXIST)
			fd = open(path, O_RDONLY | flags);
	}
	return fd;
}

/* Open or create the lock file. Return KL_EINVALID if the path is not a regular file. */
static int open_file(int *out, const char *path)
{
	KL_AUTO(kl_closep) int fd = open_lock(path);
	struct stat st;

	if (fd < 0)
		return kl_error_errno("cannot open lock file '%s'", path);
	if (fstat(fd, &st) < 0)
		return kl_error_errno("cannot stat lock file '%s'", path);
	if (!S_ISREG(st.st_mode))
		return kl_error(KL_EINVALID, "lock file '%s' is not a regular file", path);
	*out = fd;
	fd = -1;
	return 0;
}

/* Return the id of the process that holds the lock, according to /proc/locks; 0 if unknown. */
static long lock_holder(int fd)
{
	struct stat st;
	char line[256];
	long found = 0;
	FILE *file;

	if (fstat(fd, &st) < 0 || !(file = fopen("/proc/locks", "re")))
		return 0;
	while (!found && fgets(line, sizeof(line), file)) {
		unsigned long inode;
		long pid;

		if (sscanf(line, "%*d: FLOCK %*s %*s %ld %*x:%*x:%lu", &pid, &inode) == 2 &&
		    inode == (unsigned long)st.st_ino)
			found = pid;
	}
	fclose(file);
	return found;
}

#define HEAR_MS 1000

/* How long to wait for a lock, and which function to call during the wait. */
struct patience {
	int64_t wait_ms;      /* -1 to wait for ever */
	kl_lock_heard *heard; /* NULL to call no function */
	void *payload;
	int64_t start_ns, told_ms;
};

static void tell_waiter(struct patience *patience, int fd)
{
	int64_t ms = (kl_clock_ns() - patience->start_ns) / 1000000;

	if (!patience->heard || ms < patience->told_ms + HEAR_MS)
		return;
	patience->told_ms = ms;
	patience->heard(patience->payload, lock_holder(fd), ms);
}

/* Lock an open file. The lock takes over the descriptor `*fd`. */
static int take_file(struct kl_lock *lock, int *fd, const char *path, struct patience *patience)
{
	int64_t wait_ms = patience->wait_ms;
	int64_t end;
	int64_t nap = 1;

	patience->start_ns = kl_clock_ns();
	/* a wait that ends after the greatest time of the clock has no end */
	if (__builtin_mul_overflow(wait_ms, INT64_C(1000000), &end) ||
	    __builtin_add_overflow(end, patience->start_ns, &end))
		end = INT64_MAX;
	while (flock(*fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return kl_error_errno("cannot lock '%s'", path);
		if (kl_proc_interrupted())
			return kl_error(KL_EINTR, "interrupted");
		if (wait_ms >= 0 && kl_clock_ns() >= end) {
			long pid = lock_holder(*fd);

			if (pid > 0)
				return kl_error(KL_EBUSY, "'%s' is locked by process %ld", path,
						pid);
			return kl_error(KL_EBUSY, "'%s' is locked by another process", path);
		}
		tell_waiter(patience, *fd);
		kl_clock_sleep_ms(nap);
		nap = nap < 50 ? nap * 2 : 50;
	}
	lock->fd = *fd;
	*fd = -1;
	lock->path = kl_strdup(path);
	return 0;
}

static int take_path(struct kl_lock *lock, const char *path, struct patience *patience)
{
	KL_AUTO(kl_closep) int fd = -1;
	int err = open_file(&fd, path);

	return err < 0 ? err : take_file(lock, &fd, path, patience);
}

int kl_lock_take(struct kl_lock *lock, const char *path, int64_t wait_ms)
{
	struct patience patience = { .wait_ms = wait_ms };

	return take_path(lock, path, &patience);
}

void kl_lock_release(struct kl_lock *lock)
{
	kl_closep(&lock->fd);
	free(lock->path);
	free(lock->notice);
	lock->path = lock->notice = NULL;
}

/* --- locks of a resource of the machine ------------------------------------------------- */

/*
 * Create the directory if it is missing. Return true if it belongs to this user and nobody else can
 * write to it.
 */
static bool is_private_dir(const char *dir)
{
	struct stat st;

	if (mkdir(dir, 0700) < 0 && errno != EEXIST)
		return false;
	return !lstat(dir, &st) && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
	       !(st.st_mode & 022);
}

/*
 * Return a directory for locks that only the processes of this user share, or NULL; the caller
 * frees it. A directory in /tmp is tried first, because all login sessions of the user share it.
 */
static char *private_dir(void)
{
	const char *more[] = { getenv("XDG_RUNTIME_DIR"), getenv("HOME") };
	KL_AUTO(kl_freep) char *own = kl_asprintf("/tmp/klineage-%ld", (long)geteuid());

	if (is_private_dir(own))
		return kl_steal(&own);
	for (size_t i = 0; i < KL_ARRAY_SIZE(more); i++)
		if (more[i] && *more[i] == '/' && is_private_dir(more[i]))
			return kl_strdup(more[i]);
	return NULL;
}

/*
 * Take a lock that only the processes of this user share. Called after the machine-wide lock file
 * could not be opened; the last error says why.
 */
static int take_private(struct kl_lock *lock, const char *resource, struct patience *patience)
{
	KL_AUTO(kl_freep) char *why = kl_strdup(kl_error_last()), *dir = private_dir(),
			       *path = NULL;
	int err;

	if (!dir)
		return kl_error(KL_EIO, "%s, and this user has no private directory for the lock",
				why);
	path = kl_asprintf("%s/.klineage-%s.lock", dir, resource);
	if ((err = take_path(lock, path, patience)) < 0)
		return err;
	lock->notice = kl_asprintf("%s: using '%s' instead, which does not keep other users from "
				   "measuring at the same time",
				   why, path);
	kl_error_clear();
	return 0;
}

static int take_machine(struct kl_lock *lock, const char *resource, struct patience *patience)
{
	/* the file is in /tmp, because every user of the machine can create a file there */
	KL_AUTO(kl_freep) char *path = kl_asprintf("/tmp/klineage-%s.lock", resource);
	KL_AUTO(kl_closep) int fd = -1;
	int err = open_file(&fd, path);

	if (err == KL_EINTR)
		return err;
	return err < 0 ? take_private(lock, resource, patience) :
			 take_file(lock, &fd, path, patience);
}

int kl_lock_take_machine(struct kl_lock *lock, const char *resource, int64_t wait_ms)
{
	struct patience patience = { .wait_ms = wait_ms };

	return take_machine(lock, resource, &patience);
}

int kl_lock_await_machine(struct kl_lock *lock, const char *resource, kl_lock_heard *heard,
			  void *payload)
{
	struct patience patience = { .wait_ms = -1, .heard = heard, .payload = payload };

	return take_machine(lock, resource, &patience);
}

char *kl_lock_wait_text(long pid, int64_t ms)
{
	long long seconds = (long long)(ms / 1000);

	return pid > 0 ?
		       kl_asprintf("waiting for another measurement (pid %ld, for %lld s so far)",
				   pid, seconds) :
		       kl_asprintf("waiting for another measurement (for %lld s so far)", seconds);
}
