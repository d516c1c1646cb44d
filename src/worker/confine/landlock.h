/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_CONFINE_LANDLOCK_H
#define KL_WORKER_CONFINE_LANDLOCK_H

#include <stdbool.h>
#include <stdint.h>

/*
 * landlock - closes the files of the system to a process, but for those that it lists first.
 *
 *	kl_landlock_open(&rules, false);
 *	kl_landlock_allow(&rules, "/usr", KL_LANDLOCK_READ | KL_LANDLOCK_EXECUTE);
 *	kl_landlock_enter(&rules);
 *
 * kl_landlock_allow() skips a path that does not exist. kl_landlock_open() and kl_landlock_enter()
 * return 0 or a negative error; KL_ECANNOT: Linux has no Landlock of ABI 2 (5.19), or refuses it.
 */
struct kl_landlock {
	int fd;           /* -1: not open */
	int failed;       /* errno of the first rule that could not be added; 0: none */
	uint64_t handled; /* all rights that are closed unless they are allowed */
};
#define KL_LANDLOCK_INIT  \
	{                 \
		.fd = -1, \
	}

#define KL_LANDLOCK_EXECUTE 0x1   /* files */
#define KL_LANDLOCK_WRITE 0x2     /* write to files that exist */
#define KL_LANDLOCK_READ 0xc      /* read files, list directories */
#define KL_LANDLOCK_LIST 0x8      /* list directories */
#define KL_LANDLOCK_CUT 0x4000    /* truncate files */
#define KL_LANDLOCK_CREATE 0x41b0 /* make, remove and truncate files, make and remove directories */

/**
 * `alone`: also forbid TCP, and signals and abstract sockets to processes that the rules do not
 * confine, where Linux can (6.7, 6.12).
 */
int kl_landlock_open(struct kl_landlock *rules, bool alone);
void kl_landlock_allow(struct kl_landlock *rules, const char *path, unsigned rights);
/** Allow the absolute directories in the environment variable, separated by colons. */
void kl_landlock_allow_variable(struct kl_landlock *rules, const char *variable, unsigned rights);
/** Enter the rules, for this process and all that it starts. Closes `rules`. */
int kl_landlock_enter(struct kl_landlock *rules);
void kl_landlock_release(struct kl_landlock *rules);

#endif
