/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_CONFINE_CALLS_H
#define KL_WORKER_CONFINE_CALLS_H

#include <stdbool.h>
#include <stddef.h>

/*
 * calls - refuses listed system calls to a process and to all processes that it starts.
 *
 * This uses a seccomp filter. The seal of a kernel's process is stricter (worker/subject/seal.h).
 */
enum kl_calls_answer {
	KL_CALLS_FAIL, /* a refused call fails with EPERM */
	KL_CALLS_KILL, /* a refused call kills the process with SIGSYS */
};

struct kl_calls {
	const int *number; /* numbers of the system calls to refuse; borrowed */
	size_t n;
	enum kl_calls_answer answer;
	bool threads_only; /* refuse to start processes, but not to start threads */
	bool every_thread; /* apply also to the process's other threads that already run */
};

/**
 * Refuse the listed calls. Always refuse also to start processes in new namespaces, and kill the
 * process if it makes a call of another architecture. KL_ECANNOT: the system refuses seccomp.
 */
int kl_calls_refuse(const struct kl_calls *calls);

#endif
