/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/subject/seal.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "worker/confine/bpf.h"
#include "worker/confine/landlock.h"

#if defined(__x86_64__)
#include <asm/prctl.h>
#endif

#define MAX_MAPS ((size_t)1 << 20)

static int set_limit(int resource, rlim_t value, const char *name)
{
	struct rlimit limit;

	/* keep a lower limit that a jail has set: only root could raise it */
	if (getrlimit(resource, &limit) == 0 && limit.rlim_max < value)
		value = limit.rlim_max;
	limit = (struct rlimit){ value, value };
	if (setrlimit(resource, &limit) < 0)
		return kl_error_errno("cannot limit %s of the kernel's process", name);
	return 0;
}

int kl_seal_limits(void)
{
	int err;

	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		return kl_error_errno("cannot make the kernel's process end with its parent");
	/* 1 instead of 0, because Linux ignores 0 if core dumps are piped to a program */
	if ((err = set_limit(RLIMIT_CORE, 1, "core dumps")) < 0 ||
	    (err = set_limit(RLIMIT_FSIZE, 0, "file sizes")) < 0)
		return err;
	return 0;
}

/* Unmap the pages through which Linux lets a process read clocks: vDSO and vvar. */
static int unmap_clocks(void)
{
	KL_AUTO(kl_buf_release) struct kl_buf text = KL_BUF_INIT;
	KL_AUTO(kl_closep) int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	char *line, *save;

	if (fd < 0 || kl_buf_read_fd(&text, fd, MAX_MAPS) < 0)
		return kl_error_errno("cannot read /proc/self/maps");
	for (line = strtok_r(text.ptr, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		unsigned long lo, hi;
		char *end;

		if (!strstr(line, "[vdso]") && !strstr(line, "[vvar"))
			continue;
		lo = strtoul(line, &end, 16);
		hi = strtoul(end + 1, NULL, 16);
		if (munmap((void *)lo, hi - lo) < 0)
			return kl_error_errno("cannot unmap the kernel's clock pages");
	}
	return 0;
}

/* -- system call filters ----------------------------------------------------------------------- */

static int load_filter(struct sock_filter *code, size_t n)
{
	struct sock_fprog prog = { .len = (unsigned short)n, .filter = code };

	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog, 0, 0) < 0)
		return kl_error_errno("cannot install a system call filter");
	return 0;
}

/*
 * Install the filter under which the image is mapped. It allows
 *	mmap of `keep` or of no file, and mprotect, if not writable and executable at once
 *	munmap, close, exit
 *	futex, which the next filter limits
 *	prctl, to install the next filter
 */
static int allow_mapping(int keep)
{
	struct sock_filter code[] = {
		/* 0 */ KL_BPF_LOAD(arch),
		/* 1 */ KL_BPF_IF_SAME(KL_BPF_ARCH, 0, 18),
		/* 2 */ KL_BPF_LOAD(nr),
		/* 3 */ KL_BPF_IF_SAME(SYS_mmap, 9, 0),
		/* 4 */ KL_BPF_IF_SAME(SYS_mprotect, 11, 0),
		/* 5 */ KL_BPF_IF_SAME(SYS_munmap, 13, 0),
		/* 6 */ KL_BPF_IF_SAME(SYS_close, 12, 0),
		/* 7 */ KL_BPF_IF_SAME(SYS_futex, 11, 0),
		/* 8 */ KL_BPF_IF_SAME(SYS_exit, 10, 0),
		/* 9 */ KL_BPF_IF_SAME(SYS_exit_group, 9, 0),
		/* 10 */ KL_BPF_IF_SAME(SYS_prctl, 0, 9),
		/* 11 */ KL_BPF_LOAD(args[0]),
		/* 12 */ KL_BPF_IF_SAME(PR_SET_SECCOMP, 6, 7),
		/* 13 */ KL_BPF_LOAD(args[4]),
		/* 14 */ KL_BPF_IF_SAME((uint32_t)keep, 1, 0),
		/* 15 */ KL_BPF_IF_SAME((uint32_t)-1, 0, 4),
		/* 16 */ KL_BPF_LOAD(args[2]),
		/* 17 */ KL_BPF_MASK(PROT_WRITE | PROT_EXEC),
		/* 18 */ KL_BPF_IF_SAME(PROT_WRITE | PROT_EXEC, 1, 0),
		/* 19 */ KL_BPF_RETURN(SECCOMP_RET_ALLOW),
		/* 20 */ KL_BPF_RETURN(SECCOMP_RET_KILL_PROCESS),
	};

	return load_filter(code, sizeof(code) / sizeof(code[0]));
}

static int allow_exit(void)
{
	struct sock_filter code[] = {
		/* 0 */ KL_BPF_LOAD(arch),
		/* 1 */ KL_BPF_IF_SAME(KL_BPF_ARCH, 0, 4),
		/* 2 */ KL_BPF_LOAD(nr),
		/* 3 */ KL_BPF_IF_SAME(SYS_exit, 1, 0),
		/* 4 */ KL_BPF_IF_SAME(SYS_exit_group, 0, 1),
		/* 5 */ KL_BPF_RETURN(SECCOMP_RET_ALLOW),
		/* 6 */ KL_BPF_RETURN(SECCOMP_RET_KILL_PROCESS),
	};

	return load_filter(code, sizeof(code) / sizeof(code[0]));
}

/*
 * Allow only exit and futex. With futex, threads of this process can wait for each other without a
 * time limit, and wake each other. A time limit could serve as a clock.
 */
static int allow_waiting(void)
{
	struct sock_filter code[] = {
		/* 0 */ KL_BPF_LOAD(arch),
		/* 1 */ KL_BPF_IF_SAME(KL_BPF_ARCH, 0, 12),
		/* 2 */ KL_BPF_LOAD(nr),
		/* 3 */ KL_BPF_IF_SAME(SYS_exit, 9, 0),
		/* 4 */ KL_BPF_IF_SAME(SYS_exit_group, 8, 0),
		/* 5 */ KL_BPF_IF_SAME(SYS_futex, 0, 8),
		/* 6 */ KL_BPF_LOAD(args[1]),
		/* 7 */ KL_BPF_IF_SAME(FUTEX_WAKE_PRIVATE, 5, 0),
		/* 8 */ KL_BPF_IF_SAME(FUTEX_WAIT_PRIVATE, 0, 5),
		/* 9 */ KL_BPF_LOAD(args[3]),
		/* 10 */ KL_BPF_IF_SAME(0, 0, 3),
		/* 11 */ KL_BPF_LOAD_HIGH(args[3]),
		/* 12 */ KL_BPF_IF_SAME(0, 0, 1),
		/* 13 */ KL_BPF_RETURN(SECCOMP_RET_ALLOW),
		/* 14 */ KL_BPF_RETURN(SECCOMP_RET_KILL_PROCESS),
	};

	return load_filter(code, sizeof(code) / sizeof(code[0]));
}

/* -- the steps of sealing ---------------------------------------------------------------------- */

static void close_others(int keep)
{
	if (syscall(SYS_close_range, 0U, (unsigned)keep - 1, 0U) < 0 ||
	    syscall(SYS_close_range, (unsigned)keep + 1, ~0U, 0U) < 0)
		for (int fd = 0; fd < 4096; fd++)
			if (fd != keep)
				close(fd);
}

/*
 * Deny access to files by name with Landlock. On a Linux before 5.19 this does nothing, and only
 * the system call filter denies the access.
 */
static void deny_files(void)
{
	struct kl_landlock rules;

	if (kl_landlock_open(&rules, true) < 0 || kl_landlock_enter(&rules) < 0)
		kl_error_clear();
}

/* Make cpuid fault, if the processor supports that. */
static void deny_cpuid(void)
{
#if defined(__x86_64__) && defined(ARCH_SET_CPUID)
	syscall(SYS_arch_prctl, ARCH_SET_CPUID, 0UL);
#endif
}

int kl_seal_begin(int keep)
{
	int err;

	if ((err = unmap_clocks()) < 0)
		return err;
#ifdef PR_SET_TSC
	if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0) < 0 && errno != EINVAL)
		return kl_error_errno("cannot forbid the time-stamp counter");
#endif
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return kl_error_errno("cannot set no_new_privs");
	deny_files();
	close_others(keep);
	deny_cpuid();
	return 0;
}

int kl_seal_thread(void)
{
	return allow_waiting();
}

int kl_seal_mapping(int keep)
{
	return allow_mapping(keep);
}

int kl_seal_end(int keep, bool threads)
{
	if (close(keep) < 0)
		return kl_error_errno("cannot close the image");
	return threads ? allow_waiting() : allow_exit();
}
