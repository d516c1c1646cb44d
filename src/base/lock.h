/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BASE_LOCK_H
#define KL_BASE_LOCK_H

#include <stdint.h>

/*
 * lock - flock(2) on a file: freed by the kernel when the holder dies, so
 * there is nothing stale to clear. The file itself stays.
 */
struct kl_lock {
	int fd; /* -1: not held */
	char *path;
};

#define KL_LOCK_INIT     \
	{                \
		.fd = -1 \
	}

/**
 * Take the lock, waiting at most `wait_ms` (0: not at all, -1: for ever);
 * KL_EBUSY if somebody holds it. The message names the file and, where it is
 * known, the holder's pid.
 */
int kl_lock_take(struct kl_lock *lock, const char *path, int64_t wait_ms);
void kl_lock_release(struct kl_lock *lock);

/**
 * The one lock of this machine for a resource ("cpu", "gpu-<uuid>"), shared
 * by all users: held while profiling, so that two profiles never overlap.
 */
int kl_lock_take_machine(struct kl_lock *lock, const char *resource, int64_t wait_ms);

#endif
