/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_C_CODE_ISA_H
#define KL_BACKEND_C_CODE_ISA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * isa - decodes an x86-64 instruction with Zydis: its instruction set, the level of the psABI that
 * has this set, and whether a kernel may use it. The audit compares the length of every instruction
 * with objdump's text, from which the facts are read. The linked code is checked again without
 * Zydis, as the worker does (image/x86.h).
 *
 * Levels are those of the x86-64 psABI, 1 to 4. Compilers emit a few instructions at every level,
 * although their set belongs to a higher level or to none: on processors without the set, endbr64
 * and prefetchw do nothing, and tzcnt runs as bsf.
 */
#define KL_ISA_LEVELS 4
#define KL_ISA_NO_LEVEL (KL_ISA_LEVELS + 1)

struct kl_isa_insn {
	unsigned len;
	const char *name; /* mnemonic: "vaddps" */
	const char *set;  /* instruction set: "AVX2" */
	int level;        /* lowest level that has the set; KL_ISA_NO_LEVEL if no level has it */
	/* why a kernel must not use it: "calls the system"; NULL if a kernel may use it */
	const char *harm;
};

/*
 * What an instruction does with registers, as sets of bits: general registers are bits 0 to 15,
 * vector registers 16 to 47, mask registers 48 to 55, and the flags bit 56. A part of a register
 * counts as the whole.
 */
#define KL_ISA_REGS 57
struct kl_isa_flow {
	uint64_t reads; /* registers that it reads, including those in addresses */
	uint64_t writes;
	bool loads; /* reads memory */
	/* makes a constant (x ^ x, x - x): the result does not depend on the operands */
	bool clears;
};

/** Return the level of a name: 1 for "x86-64" to 4 for "x86-64-v4"; 0 if the name is unknown. */
int kl_isa_level(const char *march);
/** Decode the instruction at the start of `bytes`. Return false if it is unknown or incomplete. */
bool kl_isa_decode(struct kl_isa_insn *out, const unsigned char *bytes, size_t n);
/**
 * Find which registers the instruction at the start of `bytes` reads and writes, including those
 * that it does not name. Return false if it is unknown or incomplete.
 */
bool kl_isa_flow(struct kl_isa_flow *out, const unsigned char *bytes, size_t n);

#endif
