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
 * Open without O_CREAT first: in a sticky world-writable directory Linux refuses to open another
 * user's file with O_CREAT (fs.protected_regular). flock() does not need write access.
 */
static int open_lock(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	if (fd < 0 && errno == ENOENT) {
		fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
		if (fd >= 0)
			(void)!fchmod(fd, 0666);
		else if (errno == EEXIST)
			fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	}
	return fd;
}

/* Process that holds the lock, according to /proc/locks; 0 if unknown. */
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

int kl_lock_take(struct kl_lock *lock, const char *path, int64_t wait_ms)
{
	int64_t end = kl_clock_ns() + wait_ms * 1000000;
	KL_AUTO(kl_closep) int fd = open_lock(path);
	int64_t nap = 1;

	if (fd < 0)
		return kl_error_errno("cannot open lock file '%s'", path);
	while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return kl_error_errno("cannot lock '%s'", path);
		if (kl_proc_interrupted())
			return kl_error(KL_EINTR, "interrupted");
		if (wait_ms >= 0 && kl_clock_ns() >= end) {
			long pid = lock_holder(fd);

			if (pid > 0)
				return kl_error(KL_EBUSY, "'%s' is held by process %ld", path, pid);
			return kl_error(KL_EBUSY, "'%s' is held", path);
		}
		kl_clock_sleep_ms(nap);
		nap = nap < 50 ? nap * 2 : 50;
	}
	lock->fd = fd;
	fd = -1;
	lock->path = kl_strdup(path);
	return 0;
}

void kl_lock_release(struct kl_lock *lock)
{
	kl_closep(&lock->fd);
	free(lock->path);
	lock->path = NULL;
}

int kl_lock_take_machine(struct kl_lock *lock, const char *resource, int64_t wait_ms)
{
	/* every user of the machine can create a file in /tmp */
	KL_AUTO(kl_freep) char *path = kl_asprintf("/tmp/klineage-%s.lock", resource);

	return kl_lock_take(lock, path, wait_ms);
}
