/* SPDX-License-Identifier: Apache-2.0 */
/* filter - makes the seccomp filters of the jails */
#include <errno.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "jail/impl.h"

/*
 * System calls that neither a compiler nor the worker needs. Most have been used to escape from
 * sandboxes.
 */
static const char *const never[] = {
	"socket",
	"io_uring_setup",
	"io_uring_enter",
	"io_uring_register",
	"bpf",
	"perf_event_open",
	"userfaultfd",
	"keyctl",
	"add_key",
	"request_key",
	"mount",
	"umount2",
	"pivot_root",
	"chroot",
	"unshare",
	"setns",
	"fsopen",
	"fsconfig",
	"fsmount",
	"fspick",
	"move_mount",
	"open_tree",
	"mount_setattr",
	"open_by_handle_at",
	"name_to_handle_at",
	"process_vm_readv",
	"process_vm_writev",
	"pidfd_getfd",
	"kcmp",
	"kexec_load",
	"kexec_file_load",
	"init_module",
	"finit_module",
	"delete_module",
	"reboot",
	"swapon",
	"swapoff",
	"acct",
	"quotactl",
	"settimeofday",
	"clock_settime",
	"clock_adjtime",
	"adjtimex",
	"sethostname",
	"setdomainname",
	"fanotify_init",
	"mknod",
	"mknodat",
	"ioperm",
	"iopl",
	"modify_ldt",
	"syslog",
	"vhangup",
	"lookup_dcookie",
	"msgget",
	"semget",
	"shmget",
	"mq_open",
	"vmsplice",
	"move_pages",
	"migrate_pages",
	"mbind",
	"set_mempolicy",
	"nfsservctl",
};

static const char *const session[] = { "setsid", "setpgid" };

static const char *const modes[] = {
	"chmod",        "fchmod",       "fchmodat", "fchmodat2", "chown",     "fchown",
	"lchown",       "fchownat",     "setxattr", "lsetxattr", "fsetxattr", "removexattr",
	"lremovexattr", "fremovexattr", "truncate", "utime",     "utimes",    "futimesat",
};

static int refuse_all(scmp_filter_ctx ctx, const char *const *name, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		int nr = seccomp_syscall_resolve_name(name[i]);

		/*
		 * skip a call that this libseccomp does not know, or that this architecture does
		 * not have
		 */
		if (nr == __NR_SCMP_ERROR || nr < 0)
			continue;
		if (seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), nr, 0) < 0)
			return kl_error(KL_EIO, "cannot add the system call '%s' to the filter",
					name[i]);
	}
	return 0;
}

static int refuse_args(scmp_filter_ctx ctx)
{
	static const unsigned long ns[] = {
		CLONE_NEWUSER, CLONE_NEWNS,  CLONE_NEWPID,    CLONE_NEWNET,
		CLONE_NEWIPC,  CLONE_NEWUTS, CLONE_NEWCGROUP,
	};
	/* ioctls that insert input into the terminal */
	static const unsigned long tty[] = { TIOCSTI, 0x541c /* TIOCLINUX */ };
	int bad = 0;

	for (size_t i = 0; i < KL_ARRAY_SIZE(ns); i++)
		bad |= seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1,
					SCMP_A0(SCMP_CMP_MASKED_EQ, ns[i], ns[i]));
	for (size_t i = 0; i < KL_ARRAY_SIZE(tty); i++)
		bad |= seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(ioctl), 1,
					SCMP_A1(SCMP_CMP_MASKED_EQ, 0xffffffff, tty[i]));
	/*
	 * refuse clone3, because a filter cannot read its flags, which are in memory; libc then
	 * uses clone
	 */
	bad |= seccomp_rule_add(ctx, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
	return bad ? kl_error(KL_EIO, "cannot build the system call filter") : 0;
}

static int build_filter(scmp_filter_ctx ctx, enum kl_jail_policy policy, int flags)
{
	static const char *const compile_only[] = { "ptrace" };
	int err = refuse_all(ctx, never, KL_ARRAY_SIZE(never));

	if (!err)
		err = refuse_args(ctx);
	if (!err && policy == KL_JAIL_COMPILE)
		err = refuse_all(ctx, compile_only, KL_ARRAY_SIZE(compile_only));
	if (!err && (flags & KL_FILTER_NO_SESSION))
		err = refuse_all(ctx, session, KL_ARRAY_SIZE(session));
	/* only for compilers, because the worker must set the modes of its own files */
	if (!err && (flags & KL_FILTER_NO_MODES) && policy == KL_JAIL_COMPILE)
		err = refuse_all(ctx, modes, KL_ARRAY_SIZE(modes));
	return err;
}

static int export_filter(struct kl_jail_filter *out, scmp_filter_ctx ctx)
{
	off_t size;

	out->fd = memfd_create("filter", MFD_CLOEXEC);
	if (out->fd < 0)
		return kl_error_errno("cannot create a memfd for the system call filter");
	if (seccomp_export_bpf(ctx, out->fd) < 0)
		return kl_error(KL_EIO, "cannot export the system call filter");
	size = lseek(out->fd, 0, SEEK_END);
	if (size <= 0 || size % (off_t)sizeof(*out->code))
		return kl_error(KL_EIO, "the system call filter has an unexpected size");
	out->code = kl_malloc((size_t)size);
	if (pread(out->fd, out->code, (size_t)size, 0) != size || lseek(out->fd, 0, SEEK_SET) < 0)
		return kl_error_errno("cannot read the system call filter");
	out->prog = (struct sock_fprog){
		.len = (unsigned short)((size_t)size / sizeof(*out->code)),
		.filter = out->code,
	};
	return 0;
}

int kl_jail_filter_make(struct kl_jail_filter *out, enum kl_jail_policy policy, int flags)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ALLOW);
	int err;

	if (!ctx)
		return kl_error(KL_EIO, "cannot build the system call filter");
	err = build_filter(ctx, policy, flags);
	if (!err)
		err = export_filter(out, ctx);
	seccomp_release(ctx);
	if (err)
		kl_jail_filter_release(out);
	return err;
}

void kl_jail_filter_release(struct kl_jail_filter *filter)
{
	kl_closep(&filter->fd);
	free(filter->code);
	*filter = (struct kl_jail_filter)KL_JAIL_FILTER_INIT;
}

int kl_jail_filter_apply(const struct kl_jail_filter *filter)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return errno;
	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter->prog) < 0 ? errno : 0;
}
