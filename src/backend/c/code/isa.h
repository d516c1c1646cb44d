/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_C_CODE_ISA_H
#define KL_BACKEND_C_CODE_ISA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * isa - an x86-64 instruction read from its bytes: the instruction set it belongs to, the level of
 * the psABI that has this set, and whether a kernel may use it (Zydis). objdump's text, which the
 * facts are made of, must agree with it on the length of every instruction. The linked code is checked
 * again without Zydis, as the worker does (image/x86.h).
 *
 * Levels are those of the x86-64 psABI, 1 to 4. A few instructions run on every x86-64 processor
 * although a later set defines them: endbr64 and prefetchw do nothing on a processor without them,
 * and tzcnt is bsf there, so compilers write it at every level.
 */
#define KL_ISA_LEVELS 4
#define KL_ISA_NO_LEVEL (KL_ISA_LEVELS + 1)

struct kl_isa_insn {
	unsigned len;
	const char *name; /* mnemonic: "vaddps" */
	const char *set;  /* instruction set: "AVX2" */
	int level;        /* lowest level that has the set; KL_ISA_NO_LEVEL: none has */
	const char *harm; /* why no kernel may use it: "calls the system"; NULL: it may */
};

/** The level of "x86-64" (1) to "x86-64-v4"; 0: it is none of them. */
int kl_isa_level(const char *march);
/** Decode the instruction at `bytes`. False: no instruction starts there, or it is unknown. */
bool kl_isa_decode(struct kl_isa_insn *out, const unsigned char *bytes, size_t n);

#endif
