/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/confine/calls.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <sched.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "worker/confine/bpf.h"

#define X32_BIT 0x40000000u
#define NAMESPACES                                                                                 \
	(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | \
	 CLONE_NEWCGROUP)
#define FIXED 40 /* maximum number of instructions, without the two for each listed call */

/*
 * Append the tests of the calls that can send a signal to this process and to others: tgkill()
 * names the receiving process; fcntl() and ioctl() can set the process that receives the signals of
 * a file.
 */
static size_t add_signal_tests(struct sock_filter *filter, size_t n, uint32_t refuse)
{
	filter[n++] = KL_BPF_IF_SAME(SYS_tgkill, 0, 4);
	filter[n++] = KL_BPF_LOAD(args[0]);
	filter[n++] = KL_BPF_IF_SAME((uint32_t)getpid(), 0, 1);
	filter[n++] = KL_BPF_RETURN(SECCOMP_RET_ALLOW);
	filter[n++] = KL_BPF_RETURN(refuse);
	filter[n++] = KL_BPF_IF_SAME(SYS_fcntl, 0, 5);
	filter[n++] = KL_BPF_LOAD(args[1]);
	filter[n++] = KL_BPF_IF_SAME(F_SETOWN, 1, 0);
	filter[n++] = KL_BPF_IF_SAME(F_SETOWN_EX, 0, 1);
	filter[n++] = KL_BPF_RETURN(refuse);
	filter[n++] = KL_BPF_RETURN(SECCOMP_RET_ALLOW);
	filter[n++] = KL_BPF_IF_SAME(SYS_ioctl, 0, 5);
	filter[n++] = KL_BPF_LOAD(args[1]);
	filter[n++] = KL_BPF_IF_SAME(FIOSETOWN, 1, 0);
	filter[n++] = KL_BPF_IF_SAME(SIOCSPGRP, 0, 1);
	filter[n++] = KL_BPF_RETURN(refuse);
	filter[n++] = KL_BPF_RETURN(SECCOMP_RET_ALLOW);
	return n;
}

static size_t build_filter(struct sock_filter *filter, const struct kl_calls *calls)
{
	const uint32_t kill = SECCOMP_RET_KILL_PROCESS;
	const uint32_t refuse = calls->answer == KL_CALLS_KILL ? kill : SECCOMP_RET_ERRNO | EPERM;
	size_t n = 0;

	filter[n++] = KL_BPF_LOAD(arch);
	filter[n++] = KL_BPF_IF_SAME(KL_BPF_ARCH, 1, 0);
	filter[n++] = KL_BPF_RETURN(kill);
	filter[n++] = KL_BPF_LOAD(nr);
	filter[n++] = KL_BPF_IF_LEAST(X32_BIT, 0, 1);
	filter[n++] = KL_BPF_RETURN(kill);
	for (size_t i = 0; i < calls->n; i++) {
		filter[n++] = KL_BPF_IF_SAME((uint32_t)calls->number[i], 0, 1);
		filter[n++] = KL_BPF_RETURN(refuse);
	}
	if (calls->own_signals)
		n = add_signal_tests(filter, n, refuse);
	/*
	 * refuse clone3, whose flags lie in memory, where a filter cannot test them; libc then uses
	 * clone
	 */
	filter[n++] = KL_BPF_IF_SAME(SYS_clone3, 0, 1);
	filter[n++] = KL_BPF_RETURN(SECCOMP_RET_ERRNO | ENOSYS);
	filter[n++] = KL_BPF_IF_SAME(SYS_clone, 0, calls->threads_only ? 5 : 3);
	filter[n++] = KL_BPF_LOAD(args[0]);
	if (calls->threads_only) {
		filter[n++] = KL_BPF_IF_ANY(CLONE_THREAD, 1, 0);
		filter[n++] = KL_BPF_RETURN(refuse);
	}
	filter[n++] = KL_BPF_IF_ANY(NAMESPACES, 0, 1);
	filter[n++] = KL_BPF_RETURN(refuse);
	filter[n++] = KL_BPF_RETURN(SECCOMP_RET_ALLOW);
	return n;
}

int kl_calls_refuse(const struct kl_calls *calls)
{
	KL_AUTO(kl_freep)
	struct sock_filter *code = kl_calloc(2 * calls->n + FIXED, sizeof(*code));
	struct sock_fprog prog = { .len = (unsigned short)build_filter(code, calls),
				   .filter = code };
	unsigned flags = calls->every_thread ? SECCOMP_FILTER_FLAG_TSYNC : 0;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return kl_error(KL_ECANNOT, "cannot set no_new_privs: %s", strerror(errno));
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &prog))
		return kl_error(KL_ECANNOT, "the system refuses seccomp: %s", strerror(errno));
	return 0;
}
