/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_SUBJECT_SIGNATURE_H
#define KL_WORKER_SUBJECT_SIGNATURE_H

#ifndef KL_NO_FFI
#include <ffi.h>
#endif

#include "worker/subject/baseline.h"
#include "worker/subject/wire.h"

/*
 * signature - calls a kernel with the C types of the contract's arguments (libffi).
 *
 * A worker built without libffi (KL_NO_FFI), for a machine with a GPU, does not support surface c:
 * kl_signature_prepare() then returns KL_ECANNOT.
 *
 * The frame is everything that a call needs. It is built in a mapping of its own, which is then
 * made read-only, so that no kernel can change the arguments of the next call.
 */
struct kl_frame {
	void (*fn)(void);
	struct kl_baseline_call baseline; /* run != NULL: called instead of fn */
#ifndef KL_NO_FFI
	ffi_cif cif;
	ffi_type *type[KL_MAX_ARGS];
#endif
	void *value[KL_MAX_ARGS];    /* pointers into store */
	uint64_t store[KL_MAX_ARGS]; /* scalars by value, tensors as pointers */
};

/** Prepare the frame; `map[i]` is the address of the memfd of tensor argument i. */
int kl_signature_prepare(struct kl_frame *frame, const struct kl_wire *wire, const uint64_t *map);

/** Call the kernel, or an empty function if bit 0 of `go` is set. Invoked by the stub. */
void kl_signature_call(const void *frame, uint64_t go);

#endif
