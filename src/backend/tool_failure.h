/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_TOOL_FAILURE_H
#define KL_BACKEND_TOOL_FAILURE_H

#include <stdint.h>

#include "base/proc.h"

/*
 * tool_failure - decides what the failure of a compiler, assembler, linker or disassembler says: that
 * its input is wrong, or that the machine is in trouble.
 *
 * It is about the input only if a tool says so with a place in it, or if it exceeded the gate's own
 * limit of processor time, memory or output. Everything else is trouble: a signal, a compiler that
 * crashed or lacks a part, a full disk, no memory, no descriptors, a limit that was lower than the
 * gate's before it started. Text of the input can appear in messages, so that a hostile input can
 * make its failure look like trouble; it gains nothing, because trouble is no verdict.
 */
struct kl_tool_failure {
	const struct kl_proc_result *res;
	const char *what;                  /* of the run, for messages: "compiling 'a.c'" */
	const char *log;                   /* its stderr, with paths as in the contract */
	int64_t cpu_ms, mem_mib, file_mib; /* the gate's limits */
};

/**
 * Returns KL_ENO: it is about the input; the message is the first error as "file:line: ...".
 * KL_ECANNOT: it is about the machine.
 */
int kl_tool_failure(const struct kl_tool_failure *failure);

#endif
