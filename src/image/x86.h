/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_IMAGE_X86_H
#define KL_IMAGE_X86_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * x86 - decodes instructions of x86-64: their length, the target of a direct branch, and whether a
 * kernel must not contain them.
 *
 * Decoding is stricter than a processor's: an opcode that is undefined in 64-bit mode, or a prefix
 * that changes the size of a branch (processors disagree on it), is no instruction.
 *
 * The gate also reads instructions by Zydis (backend/c/code/isa.h), from which it learns sets and levels.
 * The worker must check by itself what it is sent, on machines that have no more than libc, jansson
 * and libffi. So there are two decoders, and a test compares them: this one refuses whatever the
 * gate refuses, and they agree on the length of every instruction that both know.
 */
struct kl_x86_insn {
	size_t len;
	bool branch;         /* jumps or calls to a direct target */
	int64_t target;      /* of a branch: relative to the start of the instruction */
	bool segment;        /* uses %fs or %gs */
	const char *refusal; /* why no kernel needs it: "calls the system"; NULL: allowed */
};

/** Decode the instruction at `code`, of which `n` bytes can be read; false: it is none. */
bool kl_x86_decode(struct kl_x86_insn *out, const unsigned char *code, size_t n);

#endif
