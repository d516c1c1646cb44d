/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_TOOL_FAILURE_H
#define KL_BACKEND_TOOL_FAILURE_H

#include <stdint.h>

#include "base/proc.h"

/*
 * tool_failure - decides why a compiler, assembler, linker or disassembler failed: because its
 * input is wrong, or because the machine is in trouble.
 *
 * The input is wrong only if the tool's message names a place in the input or is a known complaint
 * about it, or if the tool exceeded the gate's own limit of processor time, memory or output.
 * Everything else is trouble of the machine: a signal, a compiler that crashed or lacks a part, a
 * full disk, no memory, no file descriptors, or a resource limit that was lower than the gate's
 * before the tool started. Messages can quote the input, so a hostile input can make its failure
 * look like trouble of the machine. That gains nothing, because trouble of the machine gives no
 * verdict.
 */
struct kl_tool_failure {
	const struct kl_proc_result *res;
	const char *what;                  /* describes the run in messages: "compiling 'a.c'" */
	const char *log;                   /* stderr of the tool, with paths as in the contract */
	int64_t cpu_ms, mem_mib, file_mib; /* the gate's limits for the run */
};

/**
 * Classify a failed run and set the message; never returns 0. Return KL_ENO if the input is wrong
 * (the message is the first error as "file:line: ..."), or the tool exceeded a limit. Return
 * KL_ECANNOT if the machine is in trouble.
 */
int kl_tool_failure(const struct kl_tool_failure *failure);

#endif
