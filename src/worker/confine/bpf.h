/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_CONFINE_BPF_H
#define KL_WORKER_CONFINE_BPF_H

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>

/*
 * bpf - the instructions of a seccomp filter. `yes` and `no` are the numbers of instructions to
 * skip.
 */
#if defined(__x86_64__)
#define KL_BPF_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define KL_BPF_ARCH AUDIT_ARCH_AARCH64
#else
#error "the seccomp filters do not know this architecture"
#endif

#define KL_BPF(code, value) ((struct sock_filter)BPF_STMT(code, value))
#define KL_BPF_IF(test, value, yes, no) \
	((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_K | (test), value, yes, no))

/* Load the low 32 bits of a member of struct seccomp_data. */
#define KL_BPF_LOAD(member) KL_BPF(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, member))
#define KL_BPF_IF_SAME(value, yes, no) KL_BPF_IF(BPF_JEQ, value, yes, no)
#define KL_BPF_IF_LEAST(value, yes, no) KL_BPF_IF(BPF_JGE, value, yes, no)
/* Is one of these bits set? */
#define KL_BPF_IF_ANY(bits, yes, no) KL_BPF_IF(BPF_JSET, bits, yes, no)
/* Keep only these bits. */
#define KL_BPF_MASK(bits) KL_BPF(BPF_ALU | BPF_AND | BPF_K, bits)
#define KL_BPF_RETURN(answer) KL_BPF(BPF_RET | BPF_K, answer)

#endif
