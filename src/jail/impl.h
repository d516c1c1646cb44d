/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_JAIL_IMPL_H
#define KL_JAIL_IMPL_H

#include <linux/filter.h>
#include <sys/types.h>

#include "base/vec.h"
#include "jail/jail.h"

/*
 * impl - what the levels of jail.c share. Inside src/jail only.
 */

/** Resource limits, applied in the child (async-signal-safe). */
struct kl_jail_limits {
	int64_t as, data, cpu_s, fsize, nofile, nproc; /* -1: as it is */
};
void kl_jail_limits_of(struct kl_jail_limits *out, const struct kl_jail_run *run);
int kl_jail_limits_apply(const struct kl_jail_limits *limits);

/** System calls refused in every jail, as a BPF program (libseccomp). */
enum kl_jail_filter_flags {
	KL_FILTER_NO_SESSION = 1 << 0, /* nothing may leave the process group */
	KL_FILTER_NO_MODES = 1 << 1,   /* chmod, chown ... in a compile jail: not Landlock's */
};
struct kl_jail_filter {
	int fd; /* memfd with the program, at its start */
	struct sock_fprog prog;
	struct sock_filter *code;
};
#define KL_JAIL_FILTER_INIT \
	{                   \
		.fd = -1    \
	}
int kl_jail_filter_make(struct kl_jail_filter *out, enum kl_jail_policy policy, int flags);
void kl_jail_filter_release(struct kl_jail_filter *filter);
/** In the child, after no_new_privs. */
int kl_jail_filter_apply(const struct kl_jail_filter *filter);

/**
 * A user id for one run of root's jail, by chance, so that its limits are its
 * own: what an earlier run left as zombies, where process 1 does not reap, counts
 * against the id.
 */
uid_t kl_jail_uid(void);
/** As root, hand the work directory and all in it to `uid`. Symlinks are not followed. */
int kl_jail_give(const char *workdir, uid_t uid);
/** May everybody read `path` (and enter it, a directory)? */
bool kl_jail_open_to_all(const char *path);
/** May everybody pass all directories above `path`? */
bool kl_jail_way_open(const char *path);
/** Threads of this user, as RLIMIT_NPROC counts them. */
int64_t kl_jail_user_tasks(void);
/** In the child: no groups, the jail's user id, die with the parent. */
int kl_jail_drop_uid(uid_t uid);

/** Top-level names that are /usr by symlink or by content: "/lib", "/bin" ... */
extern const char *const kl_jail_roots[];
/** Read-only extras that exist on some machines. */
extern const char *const kl_jail_extras[];

int kl_jail_bwrap(struct kl_proc_result *res, const struct kl_jail *jail,
		  const struct kl_jail_run *run);
int kl_jail_landlock(struct kl_proc_result *res, const struct kl_jail *jail,
		     const struct kl_jail_run *run);
int kl_jail_chroot(struct kl_proc_result *res, const struct kl_jail *jail,
		   const struct kl_jail_run *run);

/** Options of kl_proc_run that all levels share; `run->env` is set by then. */
void kl_jail_proc_opts(struct kl_proc_opts *opts, const struct kl_jail_run *run);

#endif
