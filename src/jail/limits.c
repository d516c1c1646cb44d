/* SPDX-License-Identifier: Apache-2.0 */
/* limits - sets the resource limits of jails, and changes to another user id */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/key.h"
#include "base/mem.h"
#include "jail/impl.h"

#define MIB ((int64_t)1 << 20)

static int64_t physical_memory(void)
{
	return (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
}

void kl_jail_limits_of(struct kl_jail_limits *out, const struct kl_jail_run *run)
{
	bool compile = run->policy == KL_JAIL_COMPILE;

	*out = (struct kl_jail_limits){
		.as = -1,
		.data = -1,
		.cpu_s = -1,
		.nofile = compile ? 256 : 1024,
		.nproc = run->max_procs ? run->max_procs :
			 compile        ? 64 :
					  256,
	};
	if (compile)
		out->as = (run->mem_mib ? run->mem_mib : 4096) * MIB;
	else
		out->data = run->mem_mib ? run->mem_mib * MIB : physical_memory();
/* if this program is built with ASan, the worker is too, and its shadow memory takes 14 TiB */
#ifdef __SANITIZE_ADDRESS__
	if (!compile && !run->mem_mib)
		out->data = -1;
#endif
	/* the worker keeps tensors in memfds, to which the limit of file sizes applies */
	out->fsize = (run->file_mib ? run->file_mib : compile ? 64 : 65536) * MIB;
	if (run->cpu_ms)
		out->cpu_s = (run->cpu_ms + 999) / 1000;
}

/*
 * Lower a limit to `value`; -1 to keep the limit. A limit is never raised: an unprivileged caller
 * cannot raise it, and no caller needs that.
 */
static int lower_limit(int what, int64_t value)
{
	struct rlimit rlimit;

	if (value < 0)
		return 0;
	if (getrlimit(what, &rlimit) < 0)
		return errno;
	if (rlimit.rlim_max == RLIM_INFINITY || rlimit.rlim_max > (rlim_t)value)
		rlimit.rlim_max = (rlim_t)value;
	rlimit.rlim_cur = rlimit.rlim_max;
	return setrlimit(what, &rlimit) < 0 ? errno : 0;
}

/*
 * Limit the processor time. The hard limit kills a process with SIGKILL; the soft limit, one second
 * lower, sends SIGXCPU first, which shows the reason.
 */
static int lower_cpu(int64_t seconds)
{
	struct rlimit rlimit;
	int err = seconds < 0 ? 0 : lower_limit(RLIMIT_CPU, seconds + 1);

	if (err || seconds < 0)
		return err;
	if (getrlimit(RLIMIT_CPU, &rlimit) < 0)
		return errno;
	if (rlimit.rlim_cur > (rlim_t)seconds)
		rlimit.rlim_cur = (rlim_t)seconds;
	return setrlimit(RLIMIT_CPU, &rlimit) < 0 ? errno : 0;
}

int kl_jail_limits_apply(const struct kl_jail_limits *limits)
{
	int err = lower_limit(RLIMIT_CORE, 0);

	err = err ? err : lower_limit(RLIMIT_AS, limits->as);
	err = err ? err : lower_limit(RLIMIT_DATA, limits->data);
	err = err ? err : lower_cpu(limits->cpu_s);
	err = err ? err : lower_limit(RLIMIT_FSIZE, limits->fsize);
	err = err ? err : lower_limit(RLIMIT_NOFILE, limits->nofile);
	return err ? err : lower_limit(RLIMIT_NPROC, limits->nproc);
}

uid_t kl_jail_uid(void)
{
	uint32_t draw;

	/* choose from the range of systemd's dynamic users, because these own no permanent files */
	kl_key_random(&draw, sizeof(draw));
	return 61184 + draw % 4000;
}

static int give_tree(int at, const char *name, uid_t uid, int depth)
{
	KL_AUTO(kl_closep) int fd = -1;
	struct dirent *entry;
	DIR *dir;
	int err = 0;

	if (fchownat(at, name, uid, uid, AT_SYMLINK_NOFOLLOW) < 0)
		return kl_error_errno("cannot change the owner of '%s' for the jail", name);
	fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOTDIR || errno == ELOOP ?
			       0 :
			       kl_error_errno("cannot open '%s'", name);
	if (depth > 64)
		return kl_error(KL_EINVALID,
				"directories in the work directory are nested too deeply");
	dir = fdopendir(fd);
	if (!dir)
		return kl_error_errno("cannot read '%s'", name);
	fd = -1; /* closedir() closes it */
	while (!err && (entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
			err = give_tree(dirfd(dir), entry->d_name, uid, depth + 1);
	closedir(dir);
	return err;
}

int kl_jail_give(const char *workdir, uid_t uid)
{
	int err = geteuid() ? 0 : give_tree(AT_FDCWD, workdir, uid, 0);

	/*
	 * return another code, because KL_ENOTFOUND tells the caller of a jail that the program is
	 * missing
	 */
	return err == KL_ENOTFOUND ? kl_error_in(KL_ECANNOT, "cannot build the jail") : err;
}

bool kl_jail_open_to_all(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return false;
	return (st.st_mode & S_IROTH) && (!S_ISDIR(st.st_mode) || (st.st_mode & S_IXOTH));
}

bool kl_jail_way_open(const char *path)
{
	KL_AUTO(kl_freep) char *at = kl_strdup(path);
	struct stat st;
	char *slash;

	while ((slash = strrchr(at, '/')) && slash != at) {
		*slash = '\0';
		if (stat(at, &st) < 0 || !(st.st_mode & S_IXOTH))
			return false;
	}
	return true;
}

int64_t kl_jail_user_tasks(void)
{
	DIR *dir = opendir("/proc");
	int64_t n = 0;
	struct dirent *entry;
	struct stat st;

	while (dir && (entry = readdir(dir))) {
		char task[300];

		if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
			continue;
		snprintf(task, sizeof(task), "/proc/%s/task", entry->d_name);
		if (stat(task, &st) == 0 && st.st_uid == getuid())
			/*
			 * the link count of `task` is the number of threads plus 2 (for "." and
			 * "..")
			 */
			n += (int64_t)st.st_nlink - 2;
	}
	if (dir)
		closedir(dir);
	return n;
}

int kl_jail_drop_uid(uid_t uid)
{
	if (setgroups(0, NULL) < 0 || setresgid(uid, uid, uid) < 0 || setresuid(uid, uid, uid) < 0)
		return errno;
	/* ask for the parent-death signal again, because changing the user id clears it */
	return prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 ? errno : 0;
}
