/* SPDX-License-Identifier: Apache-2.0 */
#include "worker/confine/calls.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"

#if defined(__x86_64__)
#define THIS_ARCH AUDIT_ARCH_X86_64
#else
#define THIS_ARCH AUDIT_ARCH_AARCH64
#endif
#define X32_BIT 0x40000000u
#define NAMESPACES                                                                                 \
	(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | \
	 CLONE_NEWCGROUP)
#define FIXED 24 /* instructions besides two for each call */

static struct sock_filter filter_statement(uint16_t code, uint32_t k)
{
	return (struct sock_filter){ .code = code, .k = k };
}

static struct sock_filter filter_test(uint16_t code, uint32_t k, uint8_t yes, uint8_t no)
{
	return (struct sock_filter){ .code = code, .jt = yes, .jf = no, .k = k };
}

static size_t build_filter(struct sock_filter *filter, const struct kl_calls *calls)
{
	const uint16_t load = BPF_LD | BPF_W | BPF_ABS, same = BPF_JMP | BPF_JEQ | BPF_K;
	const uint16_t any = BPF_JMP | BPF_JSET | BPF_K;
	const uint32_t kill = SECCOMP_RET_KILL_PROCESS;
	const uint32_t refuse = calls->answer == KL_CALLS_KILL ? kill : SECCOMP_RET_ERRNO | EPERM;
	size_t n = 0;

	filter[n++] = filter_statement(load, offsetof(struct seccomp_data, arch));
	filter[n++] = filter_test(same, THIS_ARCH, 1, 0);
	filter[n++] = filter_statement(BPF_RET | BPF_K, kill);
	filter[n++] = filter_statement(load, offsetof(struct seccomp_data, nr));
	filter[n++] = filter_test(BPF_JMP | BPF_JGE | BPF_K, X32_BIT, 0, 1);
	filter[n++] = filter_statement(BPF_RET | BPF_K, kill);
	for (size_t i = 0; i < calls->n; i++) {
		filter[n++] = filter_test(same, (uint32_t)calls->number[i], 0, 1);
		filter[n++] = filter_statement(BPF_RET | BPF_K, refuse);
	}
	/* clone3 has its flags in memory, where a filter cannot read them; libc then uses clone */
	filter[n++] = filter_test(same, SYS_clone3, 0, 1);
	filter[n++] = filter_statement(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS);
	filter[n++] = filter_test(same, SYS_clone, 0, calls->threads_only ? 5 : 3);
	filter[n++] = filter_statement(load, offsetof(struct seccomp_data, args[0]));
	if (calls->threads_only) {
		filter[n++] = filter_test(any, CLONE_THREAD, 1, 0);
		filter[n++] = filter_statement(BPF_RET | BPF_K, refuse);
	}
	filter[n++] = filter_test(any, NAMESPACES, 0, 1);
	filter[n++] = filter_statement(BPF_RET | BPF_K, refuse);
	filter[n++] = filter_statement(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
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
		return kl_error(KL_ECANNOT, "no_new_privs is refused: %s", strerror(errno));
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &prog))
		return kl_error(KL_ECANNOT, "seccomp is refused: %s", strerror(errno));
	return 0;
}
