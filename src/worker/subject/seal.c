/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/subject/seal.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"

#if defined(__x86_64__)
#define THIS_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define THIS_ARCH AUDIT_ARCH_AARCH64
#else
#error "the seccomp filter does not know this architecture"
#endif

#define STACK_BYTES ((rlim_t)8 << 20)

static int set_limit(int resource, rlim_t value, const char *name)
{
	struct rlimit limit;

	/* a jail can have set a lower limit, and only root could raise it again */
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
		return kl_error_errno("cannot tie the kernel's process to its parent");
	/* 1 and not 0: Linux ignores 0 if core dumps are piped to a program */
	if ((err = set_limit(RLIMIT_CORE, 1, "core dumps")) < 0 ||
	    (err = set_limit(RLIMIT_STACK, STACK_BYTES, "the stack")) < 0 ||
	    (err = set_limit(RLIMIT_FSIZE, 0, "file sizes")) < 0)
		return err;
	return 0;
}

/* Unmap everything mapped under the names of the clock pages that Linux shares. */
static int unmap_clocks(void)
{
	char text[32768];
	size_t n = 0;
	ssize_t got;
	char *line, *save;
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return kl_error_errno("cannot read /proc/self/maps");
	while (n < sizeof(text) - 1 && (got = read(fd, text + n, sizeof(text) - 1 - n)) > 0)
		n += (size_t)got;
	close(fd);
	text[n] = '\0';
	if (n == sizeof(text) - 1)
		return kl_error(KL_EIO, "the kernel's process has too many mappings");
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
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

static int load_filter(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, THIS_ARCH, 0, 4),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog prog = { .len = sizeof(code) / sizeof(code[0]), .filter = code };

	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog, 0, 0);
}

int kl_seal(void)
{
	int err;

	if ((err = unmap_clocks()) < 0)
		return err;
#ifdef PR_SET_TSC
	if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0) < 0 && errno != EINVAL)
		return kl_error_errno("cannot forbid the time-stamp counter");
#endif
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return kl_error_errno("cannot forbid new privileges");
	if (syscall(SYS_close_range, 0U, ~0U, 0U) < 0) {
		for (int fd = 0; fd < 1024; fd++)
			close(fd);
	}
	if (load_filter() < 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0) < 0)
		return kl_error_errno("seccomp is refused");
	return 0;
}
