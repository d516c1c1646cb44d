/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_C_CODE_HIDDEN_H
#define KL_BACKEND_C_CODE_HIDDEN_H

#include <stdbool.h>
#include <stddef.h>

/*
 * hidden - instructions that no disassembly shows, because they start inside of others: `mov
 * $0x90c3a20f, %eax` contains cpuid and ret. A branch whose target the data decide can land there.
 *
 * Only those are sought that nothing stops when they run: the seal makes system calls, clocks and
 * ports fatal, and the processor makes privileged instructions so (docs/formats.md, "What an object
 * may contain", has the table). The others are found at every byte, in immediates, displacements
 * and across instructions alike. Needs nothing but the bytes.
 */

/**
 * Find the first such instruction at or behind `*at`, and set `*at` to its offset. Returns its
 * mnemonic, or NULL if there is none. An instruction that a disassembly shows counts, too.
 */
const char *kl_hidden_find(size_t *at, const unsigned char *text, size_t n);

#endif
