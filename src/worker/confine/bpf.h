/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_CONFINE_BPF_H
#define KL_WORKER_CONFINE_BPF_H

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>

/*
 * bpf - makes the instructions of a seccomp filter.
 *
 * In a test, `yes` is the number of instructions to skip if the test holds, and `no` the number to
 * skip if it does not.
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
/* Load the high 32 bits of a member of 64 bits; both architectures are little-endian. */
#define KL_BPF_LOAD_HIGH(member) \
	KL_BPF(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, member) + 4)
/* Test whether the loaded word equals `value`. */
#define KL_BPF_IF_SAME(value, yes, no) KL_BPF_IF(BPF_JEQ, value, yes, no)
/* Test whether the loaded word is at least `value`. */
#define KL_BPF_IF_LEAST(value, yes, no) KL_BPF_IF(BPF_JGE, value, yes, no)
/* Test whether at least one of `bits` is set in the loaded word. */
#define KL_BPF_IF_ANY(bits, yes, no) KL_BPF_IF(BPF_JSET, bits, yes, no)
/* Clear all bits of the loaded word except `bits`. */
#define KL_BPF_MASK(bits) KL_BPF(BPF_ALU | BPF_AND | BPF_K, bits)
#define KL_BPF_RETURN(answer) KL_BPF(BPF_RET | BPF_K, answer)

#endif
