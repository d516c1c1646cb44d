/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_IMAGE_X86_H
#define KL_IMAGE_X86_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * x86 - decodes an x86-64 instruction: its length, the target of a direct branch, and whether a
 * kernel may contain it.
 *
 * The decoder is stricter than a processor. It rejects opcodes that are undefined in 64-bit mode,
 * and prefixes that change the size of a branch, because processors disagree on these.
 *
 * The gate also decodes instructions with Zydis (backend/c/code/isa.h), which tells their
 * instruction sets and levels. The worker cannot use Zydis: it must check the code that it receives
 * on machines that have only libc, jansson and libffi. A test compares the two decoders: this
 * decoder refuses every instruction that the gate refuses with Zydis, and both give the same length
 * for every instruction that both know.
 */
struct kl_x86_insn {
	size_t len;
	bool branch;    /* it is a jump or call with a direct target */
	int64_t target; /* target of a branch, relative to the start of the instruction */
	bool segment;   /* it uses %fs or %gs */
	/*
	 * why a kernel must not contain it, such as "calls the system"; NULL if a kernel may
	 * contain it
	 */
	const char *refusal;
};

/**
 * Decode the instruction at the start of `code`, which has `n` bytes. Return false if there is no
 * instruction that the decoder knows.
 */
bool kl_x86_decode(struct kl_x86_insn *out, const unsigned char *code, size_t n);

#endif
