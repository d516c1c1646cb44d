/* SPDX-License-Identifier: Apache-2.0 */
/* landlock - runs a program in a jail made by Landlock and seccomp */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fs.h"
#include "base/mem.h"
#include "jail/impl.h"

/*
 * Rights and scopes that came after ABI 1, defined here because old versions of linux/landlock.h
 * lack them. The ABI of the running system decides which of them are used.
 */
#define FS_REFER (1ULL << 13)     /* ABI 2 */
#define FS_TRUNCATE (1ULL << 14)  /* ABI 3 */
#define FS_IOCTL_DEV (1ULL << 15) /* ABI 5 */
#define NET_ALL 3ULL              /* ABI 4: bind and connect TCP */
#define SCOPE_ALL 3ULL            /* ABI 6: abstract sockets, signals */

#define FS_READ \
	(LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define FS_FILE_ONLY                                                 \
	(LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | \
	 LANDLOCK_ACCESS_FS_WRITE_FILE | FS_TRUNCATE | FS_IOCTL_DEV)
#define FS_ABI1 ((1ULL << 13) - 1)

struct ruleset_attr {
	uint64_t fs, net, scoped;
};

static int landlock_abi(void)
{
	return (int)syscall(__NR_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
}

static uint64_t all_rights(int abi)
{
	return FS_ABI1 | FS_REFER | (abi >= 3 ? FS_TRUNCATE : 0) | (abi >= 5 ? FS_IOCTL_DEV : 0);
}

/* Allow access to one path. If it cannot be opened, that is an error only if `need` is set. */
static int allow_path(int ruleset, const char *path, uint64_t rights, bool need)
{
	KL_AUTO(kl_closep) int fd = open(path, O_PATH | O_CLOEXEC);
	struct landlock_path_beneath_attr rule = { .parent_fd = fd };
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return need ? kl_error_errno("cannot open '%s'", path) : 0;
	rule.allowed_access = S_ISDIR(st.st_mode) ? rights : rights & FS_FILE_ONLY;
	if (syscall(__NR_landlock_add_rule, ruleset, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) < 0)
		return kl_error_errno("landlock: cannot add a rule for '%s'", path);
	return 0;
}

static int allow_all(int ruleset, int abi, const struct kl_jail_run *run)
{
	static const char *const devices[] = { "/dev/null", "/dev/zero", "/dev/urandom", NULL };
	uint64_t rw = all_rights(abi) &
		      ~(LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_BLOCK |
			LANDLOCK_ACCESS_FS_MAKE_SOCK | FS_IOCTL_DEV);
	int err = allow_path(ruleset, "/usr", FS_READ, true);

	for (const char *const *at = kl_jail_roots; !err && *at; at++)
		err = allow_path(ruleset, *at, FS_READ, false);
	for (const char *const *at = kl_jail_extras; !err && *at; at++)
		err = allow_path(ruleset, *at, FS_READ, false);
	for (const char *const *at = devices; !err && *at; at++)
		err = allow_path(ruleset, *at,
				 LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE,
				 false);
	/*
	 * the worker reads /proc/self; it cannot read the memory of processes outside the jail,
	 * because Landlock forbids tracing them
	 */
	if (!err && run->policy == KL_JAIL_RUN)
		err = allow_path(ruleset, "/proc", FS_READ, false);
	if (!err && run->argv[0][0] == '/')
		err = allow_path(ruleset, run->argv[0], FS_READ, true);
	for (const char *const *at = run->readable; !err && at && *at; at++)
		err = allow_path(ruleset, *at, FS_READ, true);
	return err ? err :
		     allow_path(ruleset, run->workdir, rw & ~LANDLOCK_ACCESS_FS_EXECUTE, true);
}

static int make_ruleset(int *out, const struct kl_jail_run *run)
{
	int abi = landlock_abi();
	struct ruleset_attr attr = {
		.fs = all_rights(abi),
		.net = abi >= 4 ? NET_ALL : 0,
		.scoped = abi >= 6 ? SCOPE_ALL : 0,
	};
	size_t size = abi >= 6 ? 24 : abi >= 4 ? 16 : 8;
	KL_AUTO(kl_closep) int fd = -1;
	int err;

	if (abi < 2)
		return kl_error(KL_ECANNOT,
				"landlock is not available: the Linux kernel has Landlock ABI %d, "
				"but ABI 2 or newer is needed",
				abi < 0 ? 0 : abi);
	fd = (int)syscall(__NR_landlock_create_ruleset, &attr, size, 0);
	if (fd < 0)
		return kl_error_errno("landlock: cannot create a ruleset");
	err = allow_all(fd, abi, run);
	if (err < 0)
		return kl_error_in(KL_ECANNOT, "cannot build the jail");
	*out = fd;
	fd = -1;
	return 0;
}

struct cage {
	int ruleset;
	uid_t uid; /* user id to change to; 0 to keep ours */
	struct kl_jail_limits limits;
	struct kl_jail_filter filter;
};

/*
 * Drop all capabilities. This is for a program that must stay root, because other users cannot
 * reach the paths of the run.
 */
static int drop_capabilities(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { { 0 } };

	for (int cap = 0; prctl(PR_CAPBSET_READ, cap) >= 0; cap++)
		prctl(PR_CAPBSET_DROP, cap);
	return syscall(SYS_capset, &header, none) < 0 ? errno : 0;
}

static int enter_ruleset(void *payload)
{
	struct cage *cage = payload;
	int err = kl_jail_limits_apply(&cage->limits);

	if (!err && cage->uid)
		err = kl_jail_drop_uid(cage->uid);
	else if (!err && geteuid() == 0)
		err = drop_capabilities();
	if (!err && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		err = errno;
	if (!err && syscall(__NR_landlock_restrict_self, cage->ruleset, 0) < 0)
		err = errno;
	return err ? err : kl_jail_filter_apply(&cage->filter);
}

/*
 * Return true if the program can run under a user id other than root: every user can reach all
 * paths of the run.
 */
static bool may_drop(const struct kl_jail_run *run)
{
	bool ok = kl_jail_way_open(run->workdir);

	if (run->argv[0][0] == '/')
		ok = ok && kl_jail_way_open(run->argv[0]) && kl_jail_open_to_all(run->argv[0]);
	for (const char *const *at = run->readable; at && *at; at++)
		ok = ok && kl_jail_way_open(*at) && kl_jail_open_to_all(*at);
	return ok;
}

static void cage_release(struct cage *cage)
{
	kl_closep(&cage->ruleset);
	kl_jail_filter_release(&cage->filter);
}

int kl_jail_landlock(struct kl_proc_result *res, const struct kl_jail *jail,
		     const struct kl_jail_run *run)
{
	KL_AUTO(cage_release) struct cage cage = { .ruleset = -1, .filter = KL_JAIL_FILTER_INIT };
	struct kl_proc_opts opts;
	int err = make_ruleset(&cage.ruleset, run);

	if (!err)
		err = kl_jail_filter_make(&cage.filter, run->policy,
					  KL_FILTER_NO_SESSION | KL_FILTER_NO_MODES);
	if (geteuid() == 0 && may_drop(run))
		cage.uid = kl_jail_uid();
	if (!err)
		err = kl_jail_give(run->workdir, cage.uid);
	if (err < 0)
		return err;
	kl_jail_limits_of(&cage.limits, run);
	/* RLIMIT_NPROC counts all threads of this user, so add the number that exists already */
	if (!cage.uid)
		cage.limits.nproc += kl_jail_user_tasks();
	kl_jail_proc_opts(&opts, run);
	opts.dir = run->workdir;
	opts.before_exec = enter_ruleset;
	opts.payload = &cage;
	err = kl_proc_run(res, &opts);
	/*
	 * give the directory back to root: in a later run below it, root may lack the capability to
	 * enter it
	 */
	if (cage.uid) {
		int back = kl_jail_give(run->workdir, 0);

		err = err < 0 ? err : back;
	}
	return err;
}
