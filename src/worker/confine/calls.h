/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_CONFINE_CALLS_H
#define KL_WORKER_CONFINE_CALLS_H

#include <stdbool.h>
#include <stddef.h>

/*
 * calls - refuses listed system calls to a process and to all that it starts (seccomp). The seal of
 * a kernel's process is stricter: worker/subject/seal.h.
 */
enum kl_calls_answer {
	KL_CALLS_FAIL, /* the call fails: EPERM */
	KL_CALLS_KILL, /* it ends the process: SIGSYS */
};

struct kl_calls {
	const int *number; /* of the refused system calls */
	size_t n;
	enum kl_calls_answer answer;
	bool threads_only; /* also refuse to start processes */
	bool every_thread; /* also for the threads that run already */
};

/**
 * Refuse them, and in any case the calls of other architectures (which kill the process) and
 * processes with a namespace of their own. KL_ECANNOT: seccomp is refused.
 */
int kl_calls_refuse(const struct kl_calls *calls);

#endif
