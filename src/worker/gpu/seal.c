/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/gpu/seal.h"

#include <sys/syscall.h>

#include "base/error.h"
#include "base/mem.h"
#include "worker/confine/calls.h"
#include "worker/gpu/wall.h"

/* System calls that the driver does not need after its start. */
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
	SYS_tkill,
	SYS_rt_sigqueueinfo,
	SYS_rt_tgsigqueueinfo,
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

int kl_gpu_seal(unsigned *closed)
{
	/* the driver may create threads, which the worker counts, but not processes */
	const struct kl_calls calls = {
		.number = forbidden,
		.n = KL_ARRAY_SIZE(forbidden),
		.answer = KL_CALLS_KILL,
		.threads_only = true,
		.own_signals = true,
		.every_thread = true,
	};
	int err = kl_calls_refuse(&calls);

	if (err < 0)
		return kl_error_in(KL_ECANNOT,
				   "cannot restrict the system calls of the host code's process");
	*closed |= KL_GPU_CLOSED_CALLS;
	return 0;
}
