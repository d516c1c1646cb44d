/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/gpu/wall.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"

#define READ_FILE LANDLOCK_ACCESS_FS_READ_FILE
#define READ (READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define WRITE LANDLOCK_ACCESS_FS_WRITE_FILE
#ifndef LANDLOCK_ACCESS_FS_TRUNCATE
#define LANDLOCK_ACCESS_FS_TRUNCATE (1ULL << 14) /* ABI 3 */
#endif

static int allow_path(int ruleset, const char *path, uint64_t access)
{
	struct landlock_path_beneath_attr attr = { .parent_fd = open(path, O_PATH | O_CLOEXEC) };
	struct stat st;
	int rc;

	if (attr.parent_fd < 0)
		return 0; /* it does not exist: nothing to allow */
	/* the right to list applies to directories only */
	attr.allowed_access = fstat(attr.parent_fd, &st) || S_ISDIR(st.st_mode) ?
				      access :
				      access & ~(uint64_t)LANDLOCK_ACCESS_FS_READ_DIR;
	rc = (int)syscall(SYS_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &attr, 0);
	close(attr.parent_fd);
	return rc;
}

static int allow_system(int ruleset)
{
	static const char *const readable[] = {
		"/usr",
		"/lib",
		"/lib64",
		"/opt",
		"/sys",
		"/etc/ld.so.cache",
		"/etc/ld.so.conf",
		"/etc/ld.so.conf.d",
		"/etc/nvidia",
		"/run/nvidia-persistenced",
		"/proc/driver",
		"/proc/devices",
		"/proc/cpuinfo",
		"/proc/meminfo",
		"/proc/modules",
		"/proc/version",
		"/proc/stat",
		"/proc/sys",
		"/proc/filesystems",
		"/proc/mounts",
	};
	int rc = 0;

	for (size_t i = 0; i < KL_ARRAY_SIZE(readable) && !rc; i++)
		rc = allow_path(ruleset, readable[i], READ);
	return rc;
}

/*
 * Allow the library directories in `variable`. Relative ones are skipped: they would depend on the
 * current directory.
 */
static int allow_libraries(int ruleset, const char *variable)
{
	const char *dirs = getenv(variable);
	int rc = 0;

	for (const char *at = dirs; at && *at && !rc;) {
		size_t n = strcspn(at, ":");
		KL_AUTO(kl_freep) char *dir = kl_strndup(at, n);

		if (*dir == '/')
			rc = allow_path(ruleset, dir, READ);
		at += n + (at[n] == ':');
	}
	return rc;
}

static int allow_devices(int ruleset)
{
	static const char *const plain[] = {
		"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom",
	};
	DIR *dev = opendir("/dev");
	struct dirent *entry;
	int rc = allow_path(ruleset, "/dev", LANDLOCK_ACCESS_FS_READ_DIR);

	for (size_t i = 0; i < KL_ARRAY_SIZE(plain) && !rc; i++)
		rc = allow_path(ruleset, plain[i], READ | WRITE);
	while (!rc && dev && (entry = readdir(dev))) {
		KL_AUTO(kl_freep) char *path = kl_asprintf("/dev/%s", entry->d_name);

		if (!strncmp(entry->d_name, "nvidia", 6))
			rc = allow_path(ruleset, path, READ | WRITE);
	}
	if (dev)
		closedir(dev);
	return rc;
}

/* The driver writes the names of its threads to /proc/self, and fails if it cannot. */
static int allow_itself(int ruleset, uint64_t truncate)
{
	return allow_path(ruleset, "/proc/self", READ | WRITE | truncate);
}

/* Drop all capabilities: root then has no more rights than any owner of its files. */
static int drop_capabilities(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { { 0 } };

	for (int cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++)
		prctl(PR_CAPBSET_DROP, cap, 0, 0, 0); /* fails without privilege */
	return (int)syscall(SYS_capset, &header, none);
}

/* Ask Linux for the capabilities, instead of trusting the calls above. */
static bool has_capabilities(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct caps[2] = { { 0 } };

	return syscall(SYS_capget, &header, caps) || caps[0].effective || caps[0].permitted ||
	       caps[1].effective || caps[1].permitted;
}

int kl_gpu_wall(unsigned *closed)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
	uint64_t truncate = abi >= 3 ? LANDLOCK_ACCESS_FS_TRUNCATE : 0;
	const struct landlock_ruleset_attr attr = {
		.handled_access_fs = READ | WRITE | LANDLOCK_ACCESS_FS_EXECUTE |
				     LANDLOCK_ACCESS_FS_REMOVE_DIR |
				     LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_CHAR |
				     LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |
				     LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO |
				     LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM |
				     LANDLOCK_ACCESS_FS_REFER | truncate,
	};
	int ruleset, rc;

	if (abi < 2)
		return kl_error(KL_ECANNOT,
				"host code is not run here: this kernel has no Landlock, which "
				"closes the files to it (Linux 5.19 or newer has)");
	ruleset = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr), 0);
	rc = ruleset < 0 ? -1 : allow_system(ruleset);
	rc = rc ? rc : allow_libraries(ruleset, "LD_LIBRARY_PATH");
	rc = rc ? rc : allow_libraries(ruleset, "KLINEAGE_CUDA_LIBRARIES");
	rc = rc ? rc : allow_devices(ruleset);
	rc = rc ? rc : allow_itself(ruleset, truncate);
	rc = rc ? rc : drop_capabilities();
	if (!rc && !has_capabilities())
		*closed |= KL_GPU_CLOSED_CAPABILITIES;
	rc = rc ? rc : prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	rc = rc ? rc : (int)syscall(SYS_landlock_restrict_self, ruleset, 0);
	if (!rc)
		*closed |= KL_GPU_CLOSED_FILES;
	if (ruleset >= 0)
		close(ruleset);
	return rc ? kl_error(KL_ECANNOT, "host code is not run here: no wall around it: %s",
			     strerror(errno)) :
		    0;
}
