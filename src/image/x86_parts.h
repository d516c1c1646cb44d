/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_IMAGE_X86_PARTS_H
#define KL_IMAGE_X86_PARTS_H

#include <stdbool.h>
#include <stddef.h>

/*
 * x86_parts - an instruction that is being decoded: shared by x86.c (its length) and x86_refuse.c
 * (what it does).
 */
struct kl_x86_reader {
	const unsigned char *code;
	size_t n, at;
	bool size, address, lock, segment; /* prefixes: 66, 67, f0, and 64 or 65 */
	unsigned repeat, rex;              /* f2 or f3; 40 to 4f; 0: none */
	bool vector;                       /* VEX, EVEX or XOP */
	unsigned map;                      /* 0: one byte, 1: 0f, 2: 0f 38, 3: 0f 3a ... */
	unsigned opcode, modrm;
};

/** Why no kernel needs this instruction, or NULL. */
const char *kl_x86_refusal(const struct kl_x86_reader *reader);
/** Does it read or load %fs or %gs as an operand? */
bool kl_x86_names_segment(const struct kl_x86_reader *reader);

#endif
