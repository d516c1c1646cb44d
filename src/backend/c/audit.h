/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_C_AUDIT_H
#define KL_BACKEND_C_AUDIT_H

#include "backend/c/link/object.h"
#include "backend/c/link/reached.h"
#include "backend/c/link/symbol_index.h"
#include "base/vec.h"
#include "image/symbols.h"

/*
 * audit - checks what a kernel's object contains, before any of its code runs. The audit refuses
 * constructs that published cheats use and no kernel needs.
 */

/* All objects of a kernel. */
struct kl_audit {
	const struct kl_object *const *object;
	size_t n;
	/* all symbols that the objects define; NULL if there is none */
	const struct kl_symbol_index *defined;
	/* sections and symbols that the entry reaches; NULL for all */
	const struct kl_reached *reached;
	/*
	 * further names that may be undefined, since the linker makes them traps; NULL if there is
	 * none
	 */
	const struct kl_strvec *traps;
	bool openmp; /* functions of OpenMP may be undefined, since the worker has them */
};

/**
 * Audit the object `k` of a kernel before it is linked. It must have only sections of code and
 * data, and no constructors, IFUNC, TLS or executable stack. Each undefined symbol that the entry
 * reaches must be of an allowed kind (kl_symbol_kind), in `defined`, in `traps` or, with `openmp`,
 * a function of OpenMP (image/openmp_symbols.h). The object must not define a name of a library
 * function or of the gate; it may define `main` if the entry does not reach it. Return KL_ENO if
 * the object is refused. The message is the reason for a verdict of class "cheat".
 */
int kl_audit_object(const struct kl_audit *audit, size_t k);

#endif
