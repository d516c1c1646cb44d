/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/confine/job_jail.h"

#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fs.h"
#include "base/mem.h"
#include "worker/confine/calls.h"
#include "worker/confine/landlock.h"
#include "worker/confine/privileges.h"

#define READ (KL_LANDLOCK_READ | KL_LANDLOCK_EXECUTE)

/* System calls that neither the worker nor a vendor's library needs for kernels in C. */
static const int forbidden[] = {
	SYS_socket,
	SYS_connect,
	SYS_bind,
	SYS_listen,
	SYS_bpf,
	SYS_perf_event_open,
	SYS_userfaultfd,
	SYS_io_uring_setup,
	SYS_io_uring_enter,
	SYS_io_uring_register,
	SYS_keyctl,
	SYS_add_key,
	SYS_request_key,
	SYS_mount,
	SYS_umount2,
	SYS_pivot_root,
	SYS_chroot,
	SYS_unshare,
	SYS_setns,
	SYS_open_by_handle_at,
	SYS_name_to_handle_at,
	SYS_process_vm_readv,
	SYS_process_vm_writev,
	SYS_kcmp,
	SYS_kexec_load,
	SYS_init_module,
	SYS_finit_module,
	SYS_delete_module,
	SYS_reboot,
	SYS_swapon,
	SYS_swapoff,
	SYS_acct,
	SYS_settimeofday,
	SYS_clock_settime,
	SYS_clock_adjtime,
	SYS_adjtimex,
	SYS_sethostname,
	SYS_setdomainname,
	SYS_fanotify_init,
	SYS_mknodat,
	SYS_linkat,
	SYS_symlinkat,
	SYS_syslog,
	SYS_msgget,
	SYS_semget,
	SYS_shmget,
	SYS_mq_open,
	SYS_vmsplice,
};

/*
 * Enter new namespaces of network, IPC and host name. A process without the privilege for this must
 * also enter a new user namespace, which the system can forbid. Return true on success.
 */
static bool leave_network(void)
{
	const int flags = CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS;

	return !unshare(flags) || !unshare(CLONE_NEWUSER | flags);
}

static int close_files(const char *dir)
{
	static const char *const readable[] = { "/usr",
						"/bin",
						"/lib",
						"/lib64",
						"/proc",
						"/sys/devices/system",
						"/etc/ld.so.cache",
						"/etc/alternatives" };
	static const char *const devices[] = { "/dev/null", "/dev/zero", "/dev/urandom" };
	KL_AUTO(kl_landlock_release) struct kl_landlock rules = KL_LANDLOCK_INIT;
	KL_AUTO(kl_freep) char *program = NULL;
	KL_AUTO(kl_freep) char *plain = NULL;
	int err = kl_landlock_open(&rules, true);

	if (!err)
		err = kl_fs_program(&program, "klineage-worker");
	if (err < 0)
		return err;
	for (size_t i = 0; i < KL_ARRAY_SIZE(readable); i++)
		kl_landlock_allow(&rules, readable[i], READ);
	kl_landlock_allow_variable(&rules, "LD_LIBRARY_PATH", READ);
	for (size_t i = 0; i < KL_ARRAY_SIZE(devices); i++)
		kl_landlock_allow(&rules, devices[i], KL_LANDLOCK_READ | KL_LANDLOCK_WRITE);
	/* the children of a sanitized build run "<program>-plain", which has no sanitizers */
	plain = kl_asprintf("%s-plain", program);
	kl_landlock_allow(&rules, program, READ);
	kl_landlock_allow(&rules, plain, READ);
	kl_landlock_allow(&rules, dir, KL_LANDLOCK_READ | KL_LANDLOCK_WRITE | KL_LANDLOCK_CREATE);
	return kl_landlock_enter(&rules);
}

int kl_job_jail_enter(unsigned *closed, const char *dir)
{
	const struct kl_calls calls = { .number = forbidden,
					.n = KL_ARRAY_SIZE(forbidden),
					.answer = KL_CALLS_FAIL };
	const struct rlimit none = { 0, 0 };
	int err;

	*closed = 0;
	setrlimit(RLIMIT_CORE, &none);
	if (leave_network())
		*closed |= KL_JOB_CLOSED_NETWORK;
	if (kl_privileges_drop())
		*closed |= KL_JOB_CLOSED_CAPABILITIES;
	if (close_files(dir) == 0)
		*closed |= KL_JOB_CLOSED_FILES;
	kl_error_clear();
	err = kl_calls_refuse(&calls);
	if (!err)
		*closed |= KL_JOB_CLOSED_CALLS;
	return err;
}
