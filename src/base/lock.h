/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BASE_LOCK_H
#define KL_BASE_LOCK_H

#include <stdint.h>

/*
 * lock - flock(2) on a file. The operating system releases the lock when its holder dies, so there
 * are no stale locks. The lock file is never removed.
 */
struct kl_lock {
	int fd; /* -1 if not held */
	char *path;
	/* a warning to show to the user, from kl_lock_take_machine(); NULL if there is none */
	char *notice;
};

#define KL_LOCK_INIT     \
	{                \
		.fd = -1 \
	}

/**
 * Take the lock, waiting for at most `wait_ms`: 0 does not wait, and -1 waits for ever. Return
 * KL_EBUSY if another process holds the lock. The message names the file and, if known, that
 * process. Return KL_EINTR if the user interrupted (kl_proc_interrupted()).
 */
int kl_lock_take(struct kl_lock *lock, const char *path, int64_t wait_ms);
void kl_lock_release(struct kl_lock *lock);

/**
 * Take the machine-wide lock of a resource ("cpu", "gpu-<uuid>"), shared by all users. The gate
 * holds it while it profiles a kernel, so that two profiles never overlap. If the lock file in /tmp
 * cannot be used (it is a FIFO, a symlink or a file that we may not open), instead take a lock that
 * only the processes of this user share, and set `notice`.
 */
int kl_lock_take_machine(struct kl_lock *lock, const char *resource, int64_t wait_ms);

/**
 * A function that kl_lock_await_machine() calls every second while it waits. `pid` is the process
 * that holds the lock (0 if unknown), and `ms` is the time waited so far.
 */
typedef void kl_lock_heard(void *payload, long pid, int64_t ms);
/** Like kl_lock_take_machine(), but wait for ever, and call `heard` every second. */
int kl_lock_await_machine(struct kl_lock *lock, const char *resource, kl_lock_heard *heard,
			  void *payload);
/**
 * Return a message for the user, such as "waiting for another measurement (pid 4711, for 7 s so
 * far)". The caller frees it.
 */
char *kl_lock_wait_text(long pid, int64_t ms);

#endif
