/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_SUBJECT_SIGNATURE_H
#define KL_WORKER_SUBJECT_SIGNATURE_H

#ifndef KL_NO_FFI
#include <ffi.h>
#endif

#include "image/image.h"
#include "worker/subject/baseline.h"
#include "worker/subject/untimed.h"
#include "worker/subject/wire.h"

/*
 * signature - calls a kernel with the C types of the contract's arguments (libffi). The value that
 * the kernel returns is stored like an output.
 *
 * A worker built without libffi (KL_NO_FFI), for a machine with a GPU, does not support surface c:
 * kl_signature_prepare() then returns KL_ECANNOT.
 *
 * With an adapter (adapter.c) the kernel is called by adapter_call, whose first argument is the
 * workspace; adapter_pack and adapter_finish have the same arguments, and adapter_prepare has the
 * workspace, the dims and the scalars.
 *
 * The frame holds everything that a call needs besides its arguments (struct kl_wire_call). The
 * frame has a mapping of its own, which is made read-only once it is filled; the arguments are
 * mapped read-only as well. So no kernel can change the data that the next call uses.
 */
struct kl_frame {
	void (*fn)(void);
	const struct kl_wire_call *call;
	/* for each view, the baseline to call instead of `fn`; if its `run` is NULL, call `fn` */
	struct kl_baseline_call baseline[KL_WIRE_VIEWS];
	/*
	 * functions of an adapter, by enum kl_wire_do less KL_WIRE_PREPARE; NULL if there is none
	 */
	void (*adapter[KL_IMAGE_ADAPTER])(void);
	size_t nreturned;  /* bytes of the value that the kernel returns; 0 if it returns none */
	uint32_t returned; /* index in call->store of the address where the value goes */
	uint32_t npassed;  /* number of arguments, including the workspace */
#ifndef KL_NO_FFI
	ffi_cif cif;
	ffi_type *type[KL_MAX_ARGS + 1];
#endif
	void *value[KL_MAX_ARGS + 1]; /* pointers into *call */
	/* arguments of adapter_pack and adapter_finish; arguments of adapter_prepare */
	struct kl_untimed_args untimed, prepare;
};

/** Prepare the frame for calls with the arguments of frame->call, which must be set. */
int kl_signature_prepare(struct kl_frame *frame, const struct kl_wire *wire);

/** Call the function that the low bits of `go` select (enum kl_wire_do). The stub invokes this. */
void kl_signature_call(const void *frame, uint64_t go);

#endif
