/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_C_CODE_HIDDEN_H
#define KL_BACKEND_C_CODE_HIDDEN_H

#include <stdbool.h>
#include <stddef.h>

/*
 * hidden - finds instructions that no disassembly shows, because they start inside other
 * instructions: `mov $0x90c3a20f, %eax` contains cpuid and ret. An open branch can land on such an
 * instruction.
 *
 * The search covers only instructions that nothing stops when they run; docs/formats.md, "What an
 * object may contain", lists them. System calls, clocks, ports and privileged instructions need
 * no search, because the seal or the processor kills a process that executes them. The search looks
 * at every byte, also in immediates, in displacements and across instructions.
 */

/**
 * Find the first of these instructions at or after offset `*at`, set `*at` to its offset and return
 * its mnemonic; NULL if there is none. Instructions that a disassembly shows are also found.
 */
const char *kl_hidden_find(size_t *at, const unsigned char *text, size_t n);

#endif
