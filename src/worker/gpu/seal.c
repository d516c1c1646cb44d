/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/gpu/seal.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "worker/gpu/wall.h"

#if defined(__x86_64__)
#define THIS_ARCH AUDIT_ARCH_X86_64
#else
#define THIS_ARCH AUDIT_ARCH_AARCH64
#endif
#define X32_BIT 0x40000000u

/* System calls that no driver needs once it runs. */
static const int forbidden[] = {
#ifdef SYS_fork
	SYS_fork,
	SYS_vfork,
#endif
	SYS_execve,
	SYS_execveat,
	SYS_ptrace,
	SYS_socket,
	SYS_connect,
	SYS_bind,
	SYS_listen,
	SYS_accept4,
	SYS_process_vm_readv,
	SYS_process_vm_writev,
	SYS_pidfd_open,
	SYS_pidfd_getfd,
	SYS_pidfd_send_signal,
	SYS_kill,
	SYS_bpf,
	SYS_perf_event_open,
	SYS_userfaultfd,
	SYS_io_uring_setup,
	SYS_mount,
	SYS_umount2,
	SYS_pivot_root,
	SYS_chroot,
	SYS_unshare,
	SYS_setns,
	SYS_keyctl,
	SYS_add_key,
	SYS_request_key,
	SYS_init_module,
	SYS_finit_module,
	SYS_delete_module,
	SYS_kexec_load,
	SYS_reboot,
	SYS_unlinkat,
	SYS_renameat2,
	SYS_linkat,
	SYS_symlinkat,
	SYS_fchmodat,
	SYS_fchownat,
	SYS_truncate,
	SYS_setuid,
	SYS_setgid,
	SYS_capset,
	SYS_settimeofday,
	SYS_clock_settime,
};

#define MOST (2 * KL_ARRAY_SIZE(forbidden) + 24)

static struct sock_filter filter_statement(uint16_t code, uint32_t k)
{
	return (struct sock_filter){ .code = code, .k = k };
}

static struct sock_filter filter_test(uint16_t code, uint32_t k, uint8_t yes, uint8_t no)
{
	return (struct sock_filter){ .code = code, .jt = yes, .jf = no, .k = k };
}

static size_t build_filter(struct sock_filter *filter)
{
	const uint16_t load = BPF_LD | BPF_W | BPF_ABS, same = BPF_JMP | BPF_JEQ | BPF_K;
	const uint32_t kill = SECCOMP_RET_KILL_PROCESS;
	size_t n = 0;

	filter[n++] = filter_statement(load, offsetof(struct seccomp_data, arch));
	filter[n++] = filter_test(same, THIS_ARCH, 1, 0);
	filter[n++] = filter_statement(BPF_RET | BPF_K, kill);
	filter[n++] = filter_statement(load, offsetof(struct seccomp_data, nr));
	filter[n++] = filter_test(BPF_JMP | BPF_JGE | BPF_K, X32_BIT, 0, 1);
	filter[n++] = filter_statement(BPF_RET | BPF_K, kill);
	for (size_t i = 0; i < KL_ARRAY_SIZE(forbidden); i++) {
		filter[n++] = filter_test(same, (uint32_t)forbidden[i], 0, 1);
		filter[n++] = filter_statement(BPF_RET | BPF_K, kill);
	}
	/* clone3 has its flags in memory, where a filter cannot read them; libc then uses clone */
	filter[n++] = filter_test(same, SYS_clone3, 0, 1);
	filter[n++] = filter_statement(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS);
	/* the driver may create threads (which are counted from outside), but not processes */
	filter[n++] = filter_test(same, SYS_clone, 0, 3);
	filter[n++] = filter_statement(load, offsetof(struct seccomp_data, args[0]));
	filter[n++] = filter_test(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 1, 0);
	filter[n++] = filter_statement(BPF_RET | BPF_K, kill);
	filter[n++] = filter_statement(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	return n;
}

int kl_gpu_seal(unsigned *closed)
{
	struct sock_filter code[MOST];
	struct sock_fprog prog = { .len = (unsigned short)build_filter(code), .filter = code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return kl_error(KL_ECANNOT, "no_new_privs is refused: host code is not run here");
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &prog))
		return kl_error(KL_ECANNOT, "seccomp is refused: host code is not run here");
	*closed |= KL_GPU_CLOSED_CALLS;
	return 0;
}
