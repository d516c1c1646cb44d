/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_JAIL_IMPL_H
#define KL_JAIL_IMPL_H

#include <linux/filter.h>
#include <sys/types.h>

#include "base/vec.h"
#include "jail/jail.h"

/* impl - declarations that the levels of the jail share. Use them only in src/jail. */

/** Resource limits, which are set in the child. A limit of -1 is not changed. */
struct kl_jail_limits {
	/* `as`, `data` and `fsize` are in bytes, `cpu_s` in seconds */
	int64_t as, data, cpu_s, fsize, nofile, nproc;
};
/** Compute the limits of a run. Limits that the run leaves at 0 get the defaults of its policy. */
void kl_jail_limits_of(struct kl_jail_limits *out, const struct kl_jail_run *run);
/**
 * Set the limits in the child, but never raise a limit. Return 0 or an errno. Async-signal-safe.
 */
int kl_jail_limits_apply(const struct kl_jail_limits *limits);

/** Flags that make a jail's filter refuse further system calls. */
enum kl_jail_filter_flags {
	/* setsid and setpgid, so that no process can leave the process group */
	KL_FILTER_NO_SESSION = 1 << 0,
	/* KL_JAIL_COMPILE only: chmod, chown ..., because Landlock does not restrict them */
	KL_FILTER_NO_MODES = 1 << 1,
};
struct kl_jail_filter {
	int fd; /* memfd with the code of the filter, positioned at its start; -1 if not made */
	struct sock_fprog prog;
	struct sock_filter *code;
};
#define KL_JAIL_FILTER_INIT \
	{                   \
		.fd = -1    \
	}
int kl_jail_filter_make(struct kl_jail_filter *out, enum kl_jail_policy policy, int flags);
void kl_jail_filter_release(struct kl_jail_filter *filter);
/** In the child: set no_new_privs and install the filter. Return 0 or an errno. */
int kl_jail_filter_apply(const struct kl_jail_filter *filter);

/**
 * Return a random user id for one run of a jail that root starts, so that the limit on processes
 * counts only the processes of this run. Zombies of an earlier run, which remain if process 1 does
 * not reap them, count for the user id of the earlier run.
 */
uid_t kl_jail_uid(void);
/**
 * As root, give the work directory and everything in it to `uid`, without following symlinks. As
 * another user, do nothing.
 */
int kl_jail_give(const char *workdir, uid_t uid);
/** Return true if every user can read `path` (and enter it, if it is a directory). */
bool kl_jail_open_to_all(const char *path);
/** Return true if every user can search all directories above `path` (mode o+x). */
bool kl_jail_way_open(const char *path);
/** Return the number of threads of this user, as RLIMIT_NPROC counts them. */
int64_t kl_jail_user_tasks(void);
/**
 * In the child: drop all groups, change to user id `uid`, and ask for SIGKILL when the parent dies.
 * Return 0 or an errno.
 */
int kl_jail_drop_uid(uid_t uid);

/** Top-level paths whose content is part of /usr, often as symlinks: "/lib", "/bin" ... */
extern const char *const kl_jail_roots[];
/** Paths outside /usr that every jail shows; some exist only on some machines. */
extern const char *const kl_jail_extras[];

int kl_jail_bwrap(struct kl_proc_result *res, const struct kl_jail *jail,
		  const struct kl_jail_run *run);
int kl_jail_landlock(struct kl_proc_result *res, const struct kl_jail *jail,
		     const struct kl_jail_run *run);
int kl_jail_chroot(struct kl_proc_result *res, const struct kl_jail *jail,
		   const struct kl_jail_run *run);

/** Fill in the options of kl_proc_run() that all levels share. `run->env` must be set. */
void kl_jail_proc_opts(struct kl_proc_opts *opts, const struct kl_jail_run *run);

#endif
