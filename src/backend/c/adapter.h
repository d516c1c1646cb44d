/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_C_ADAPTER_H
#define KL_BACKEND_C_ADAPTER_H

#include "backend/c/code/code.h"
#include "contract/surface.h"

/*
 * adapter - checks the two halves of a contract's adapter before they are linked with a kernel.
 *
 * The gate compiles the adapter twice. The half with KL_TIMED 1 can include the kernel's headers,
 * so it counts as code of the kernel: it has adapter_call, which is timed, and adapter_prepare,
 * which gets no input. The half with KL_TIMED 0 is compiled without any file of the kernel: it has
 * adapter_pack and adapter_finish, which get the tensors and are not timed. The checks make sure
 * that no code of the kernel runs in adapter_pack and adapter_finish, and that neither the kernel
 * nor its headers define these two (docs/formats.md, "The adapter").
 */
#define KL_ADAPTER_CALL "adapter_call"
#define KL_ADAPTER_PREPARE "adapter_prepare"
#define KL_ADAPTER_PACK "adapter_pack"
#define KL_ADAPTER_FINISH "adapter_finish"

/** Names of the functions of each half; NULL-terminated. */
extern const char *const kl_adapter_timed[], *const kl_adapter_untimed[];

/* The objects of a kernel with an adapter. */
struct kl_adapter {
	/* the kernel's objects, followed by the object of the timed half */
	const struct kl_object *const *object;
	size_t n;
	const struct kl_symbol_index *defined; /* all symbols that the objects define */
	const struct kl_contract *contract;
};

/**
 * Check that an adapter (NULL if there is none) has been written. Return KL_ECANNOT if it contains
 * KL_ADAPTER_TODO.
 */
int kl_adapter_filled(const struct kl_file *adapter);
/** Return true if an object defines the global symbol `name`. */
bool kl_adapter_has(const struct kl_object *object, const char *name);

/**
 * Check the objects of a kernel and the timed half. On KL_ENO, the message says why, and *class_ is
 * the class of the verdict.
 */
int kl_adapter_check(const char **class_, const struct kl_adapter *adapter);
/**
 * Check the object of the untimed half; `code` is the object's machine code. On KL_EINVALID, the
 * message says what is wrong with the adapter.
 */
int kl_adapter_check_untimed(const struct kl_object *object, const struct kl_code *code);
/**
 * Append sentences for the event: which functions of the kernel run in adapter_prepare, and whether
 * adapter_call has a loop of its own. `code` is the machine code of the objects.
 */
void kl_adapter_notes(struct kl_strvec *out, const struct kl_adapter *adapter,
		      const struct kl_code *code);

#endif
