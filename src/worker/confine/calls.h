/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_CONFINE_CALLS_H
#define KL_WORKER_CONFINE_CALLS_H

#include <stdbool.h>
#include <stddef.h>

/*
 * calls - refuses listed system calls to a process and to all processes that it starts.
 *
 * This uses a seccomp filter. The filters of a kernel's process are stricter: they list the calls
 * that are allowed, and refuse all others (worker/subject/seal.h).
 */
enum kl_calls_answer {
	KL_CALLS_FAIL, /* a refused call fails with EPERM */
	KL_CALLS_KILL, /* a refused call kills the process with SIGSYS */
};

struct kl_calls {
	const int *number; /* numbers of the system calls to refuse; borrowed */
	size_t n;
	enum kl_calls_answer answer;
	bool threads_only; /* also refuse to start processes; starting threads is allowed */
	/* also refuse signals to other processes; `number` must have kill() and similar calls */
	bool own_signals;
	bool every_thread; /* apply to all threads that already run, not only to this one */
};

/**
 * Refuse the listed calls, and in any case clone() into new namespaces. A call of another
 * architecture, or of x32, always kills the process. Return KL_ECANNOT if the system refuses
 * seccomp.
 */
int kl_calls_refuse(const struct kl_calls *calls);

#endif
