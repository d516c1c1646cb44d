/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_CONFINE_LANDLOCK_H
#define KL_WORKER_CONFINE_LANDLOCK_H

#include <stdbool.h>
#include <stdint.h>

/*
 * landlock - denies a process all files except those that a set of rules allows.
 *
 *	kl_landlock_open(&rules, false);
 *	kl_landlock_allow(&rules, "/usr", KL_LANDLOCK_READ | KL_LANDLOCK_EXECUTE);
 *	kl_landlock_enter(&rules);
 *
 * kl_landlock_allow() skips a path that does not exist. kl_landlock_open() and kl_landlock_enter()
 * return 0 or a negative error. The error is KL_ECANNOT if Linux has no Landlock of ABI 2 (Linux
 * 5.19) or later, or refuses to apply it.
 */
struct kl_landlock {
	int fd; /* -1 if not open */
	/* errno of the first rule that could not be added; 0 if there is no failure */
	int failed;
	uint64_t handled; /* rights that are denied unless a rule allows them */
};
#define KL_LANDLOCK_INIT  \
	{                 \
		.fd = -1, \
	}

#define KL_LANDLOCK_EXECUTE 0x1   /* execute files */
#define KL_LANDLOCK_WRITE 0x2     /* write to files that exist */
#define KL_LANDLOCK_READ 0xc      /* read files, list directories */
#define KL_LANDLOCK_LIST 0x8      /* list directories */
#define KL_LANDLOCK_CUT 0x4000    /* truncate files */
#define KL_LANDLOCK_CREATE 0x41b0 /* create, remove files and directories; truncate files */

/**
 * Start a set of rules that allows nothing yet. If `alone` is set, the rules also forbid TCP (from
 * Linux 6.7 on). From Linux 6.12 on they also forbid sending signals to processes that they do not
 * confine, and connecting to abstract sockets of such processes.
 */
int kl_landlock_open(struct kl_landlock *rules, bool alone);
/** Allow `rights` (KL_LANDLOCK_*) for the file `path`, or for all files below a directory. */
void kl_landlock_allow(struct kl_landlock *rules, const char *path, unsigned rights);
/**
 * Allow `rights` for each absolute directory in an environment variable that lists directories,
 * separated by colons.
 */
void kl_landlock_allow_variable(struct kl_landlock *rules, const char *variable, unsigned rights);
/** Apply the rules to this thread and to all that it starts from now on; release `rules`. */
int kl_landlock_enter(struct kl_landlock *rules);
void kl_landlock_release(struct kl_landlock *rules);

#endif
