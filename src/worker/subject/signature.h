/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_SUBJECT_SIGNATURE_H
#define KL_WORKER_SUBJECT_SIGNATURE_H

#ifndef KL_NO_FFI
#include <ffi.h>
#endif

#include "worker/subject/baseline.h"
#include "worker/subject/wire.h"

/*
 * signature - a call with the C types of the contract's arguments (libffi).
 *
 * A worker built where libffi is not (KL_NO_FFI), for a machine with a GPU, has no surface c:
 * kl_signature_prepare() is KL_ECANNOT then.
 *
 * The frame is everything a call needs. It is built in a mapping of its own,
 * which is then made read-only, so that no kernel can change what the next
 * call gets.
 */
struct kl_frame {
	void (*fn)(void);
	struct kl_baseline_call baseline; /* run != NULL: called instead of fn */
#ifndef KL_NO_FFI
	ffi_cif cif;
	ffi_type *type[KL_MAX_ARGS];
#endif
	void *value[KL_MAX_ARGS];    /* -> store */
	uint64_t store[KL_MAX_ARGS]; /* values by value, or pointers */
};

/** Prepare; `map[i]` is where the memfd of tensor argument i begins. */
int kl_signature_prepare(struct kl_frame *frame, const struct kl_wire *wire, const uint64_t *map);

/** One call, or with bit 0 of `go` a call of an empty function. What the stub invokes. */
void kl_signature_call(const void *frame, uint64_t go);

#endif
