/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/confine/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"

#ifndef LANDLOCK_ACCESS_FS_TRUNCATE
#define LANDLOCK_ACCESS_FS_TRUNCATE (1ULL << 14) /* ABI 3 */
#endif
#define ALL_ABI2 ((1ULL << 14) - 1) /* all rights to files that ABI 2 knows */
/* the rights that Landlock accepts in a rule for a file that is not a directory */
#define FILE_RIGHTS                                                   \
	(LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_WRITE_FILE | \
	 LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_TRUNCATE)

/*
 * A copy of struct landlock_ruleset_attr of ABI 6, because older headers lack some of its members.
 */
struct attributes {
	uint64_t files, network, scoped;
};
#define NETWORK_ALL 3ULL /* binding and connecting TCP sockets */
#define SCOPE_ALL 3ULL   /* signals to, and abstract sockets of, processes outside the rules */

_Static_assert(KL_LANDLOCK_EXECUTE == LANDLOCK_ACCESS_FS_EXECUTE, "differs from linux/landlock.h");
_Static_assert(KL_LANDLOCK_WRITE == LANDLOCK_ACCESS_FS_WRITE_FILE, "differs from linux/landlock.h");
_Static_assert(KL_LANDLOCK_READ == (LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR),
	       "differs from linux/landlock.h");
_Static_assert(KL_LANDLOCK_CREATE == (LANDLOCK_ACCESS_FS_REMOVE_DIR |
				      LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_DIR |
				      LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_TRUNCATE),
	       "differs from linux/landlock.h");

void kl_landlock_release(struct kl_landlock *rules)
{
	kl_closep(&rules->fd);
}

int kl_landlock_open(struct kl_landlock *rules, bool alone)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	struct attributes attr = { .files = ALL_ABI2 };
	size_t size = abi >= 6 ? 24 : abi >= 4 ? 16 : 8;

	*rules = (struct kl_landlock)KL_LANDLOCK_INIT;
	if (abi < 2)
		return kl_error(KL_ECANNOT, "this Linux cannot limit a process to some files: use "
					    "Linux 5.19 or newer, with Landlock");
	if (abi >= 3)
		attr.files |= LANDLOCK_ACCESS_FS_TRUNCATE;
	if (alone && abi >= 4)
		attr.network = NETWORK_ALL;
	if (alone && abi >= 6)
		attr.scoped = SCOPE_ALL;
	rules->handled = attr.files;
	rules->fd = (int)syscall(SYS_landlock_create_ruleset, &attr, size, 0);
	return rules->fd < 0 ?
		       kl_error(KL_ECANNOT, "the system refuses Landlock: %s", strerror(errno)) :
		       0;
}

void kl_landlock_allow(struct kl_landlock *rules, const char *path, unsigned rights)
{
	struct landlock_path_beneath_attr attr = { .allowed_access = rights & rules->handled };
	KL_AUTO(kl_closep) int fd = open(path, O_PATH | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return;
	if (fstat(fd, &st) < 0 || !S_ISDIR(st.st_mode))
		attr.allowed_access &= FILE_RIGHTS;
	attr.parent_fd = fd;
	if (syscall(SYS_landlock_add_rule, rules->fd, LANDLOCK_RULE_PATH_BENEATH, &attr, 0) < 0 &&
	    !rules->failed)
		rules->failed = errno;
}

void kl_landlock_allow_variable(struct kl_landlock *rules, const char *variable, unsigned rights)
{
	const char *dirs = getenv(variable);

	for (const char *at = dirs; at && *at;) {
		size_t n = strcspn(at, ":");
		KL_AUTO(kl_freep) char *dir = kl_strndup(at, n);

		if (*dir == '/') /* a relative path would depend on the current directory */
			kl_landlock_allow(rules, dir, rights);
		at += n + (at[n] == ':');
	}
}

int kl_landlock_enter(struct kl_landlock *rules)
{
	int err = rules->failed;

	if (!err && (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
		     syscall(SYS_landlock_restrict_self, rules->fd, 0) < 0))
		err = errno;
	kl_landlock_release(rules);
	return err ? kl_error(KL_ECANNOT, "the system refuses Landlock: %s", strerror(err)) : 0;
}
