/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_JAIL_IMPL_H
#define KL_JAIL_IMPL_H

#include <linux/filter.h>
#include <sys/types.h>

#include "base/vec.h"
#include "jail/jail.h"

/*
 * impl - declarations that the jail levels share, for use inside src/jail only.
 */

/** Resource limits, applied in the child (async-signal-safe). */
struct kl_jail_limits {
	int64_t as, data, cpu_s, fsize, nofile, nproc; /* as, data, fsize: bytes; -1: keep */
};
/** The limits of a run, with the defaults of its policy. */
void kl_jail_limits_of(struct kl_jail_limits *out, const struct kl_jail_run *run);
/** In the child: only lowers limits. Returns 0 or an errno value. */
int kl_jail_limits_apply(const struct kl_jail_limits *limits);

/** System calls that the filter of a jail refuses in addition to those refused in every jail. */
enum kl_jail_filter_flags {
	KL_FILTER_NO_SESSION = 1 << 0, /* no process can leave the process group */
	KL_FILTER_NO_MODES = 1 << 1,   /* no chmod, chown ... (compile): Landlock allows them */
};
struct kl_jail_filter {
	int fd; /* memfd with the program, positioned at its start */
	struct sock_fprog prog;
	struct sock_filter *code;
};
#define KL_JAIL_FILTER_INIT \
	{                   \
		.fd = -1    \
	}
int kl_jail_filter_make(struct kl_jail_filter *out, enum kl_jail_policy policy, int flags);
void kl_jail_filter_release(struct kl_jail_filter *filter);
/** In the child: set no_new_privs and install the filter. Returns 0 or an errno value. */
int kl_jail_filter_apply(const struct kl_jail_filter *filter);

/**
 * A random user id for one run of root's jail, so that its limits count only its own processes:
 * zombies of an earlier run, which remain if process 1 does not reap them, count against their id.
 */
uid_t kl_jail_uid(void);
/**
 * As root, give the work directory and everything in it to `uid`, without following symlinks.
 * Otherwise do nothing.
 */
int kl_jail_give(const char *workdir, uid_t uid);
/** Can every user read `path` (and enter it, if it is a directory)? */
bool kl_jail_open_to_all(const char *path);
/** Can every user pass all directories above `path`? */
bool kl_jail_way_open(const char *path);
/** Number of threads of this user, as RLIMIT_NPROC counts them. */
int64_t kl_jail_user_tasks(void);
/**
 * In the child: drop all groups, change to user id `uid`, die with the parent. Returns 0 or an
 * errno value.
 */
int kl_jail_drop_uid(uid_t uid);

/** Top-level names whose content is that of /usr, often as symlinks: "/lib", "/bin" ... */
extern const char *const kl_jail_roots[];
/** Further read-only paths, which exist on some machines only. */
extern const char *const kl_jail_extras[];

int kl_jail_bwrap(struct kl_proc_result *res, const struct kl_jail *jail,
		  const struct kl_jail_run *run);
int kl_jail_landlock(struct kl_proc_result *res, const struct kl_jail *jail,
		     const struct kl_jail_run *run);
int kl_jail_chroot(struct kl_proc_result *res, const struct kl_jail *jail,
		   const struct kl_jail_run *run);

/** Options of kl_proc_run that all levels share; `run->env` must be set. */
void kl_jail_proc_opts(struct kl_proc_opts *opts, const struct kl_jail_run *run);

#endif
