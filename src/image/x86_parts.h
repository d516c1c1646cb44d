/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_IMAGE_X86_PARTS_H
#define KL_IMAGE_X86_PARTS_H

#include <stdbool.h>
#include <stddef.h>

/*
 * x86_parts - the state of the decoder, shared by x86.c and x86_refuse.c. x86.c finds the length of
 * an instruction; x86_refuse.c refuses instructions by what they do.
 */
struct kl_x86_reader {
	const unsigned char *code;
	size_t n, at; /* bytes of `code`; how many of them have been read */
	/* true after prefix 66 (size), 67 (address), f0 (lock), 64 or 65 (segment) */
	bool size, address, lock, segment;
	/* `repeat`: prefix f2 or f3; `rex`: prefix 40 to 4f; 0 if there is none */
	unsigned repeat, rex;
	bool vector; /* it is encoded with VEX, EVEX or XOP */
	/* opcode map: 0: one byte, 1: 0f, 2: 0f 38, 3: 0f 3a; EVEX and XOP have further maps */
	unsigned map;
	unsigned opcode, modrm;
};

/** Return why a kernel must not contain the instruction; NULL if a kernel may contain it. */
const char *kl_x86_refusal(const struct kl_x86_reader *reader);
/** Return true if the instruction reads or writes the segment register %fs or %gs as an operand. */
bool kl_x86_names_segment(const struct kl_x86_reader *reader);

#endif
