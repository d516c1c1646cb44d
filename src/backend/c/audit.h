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
 * what published cheats use and no kernel needs.
 */

/* All objects of a kernel. */
struct kl_audit {
	const struct kl_object *const *object;
	size_t n;
	const struct kl_symbol_index *defined; /* all symbols that the objects define; NULL: none */
	/* sections and symbols that the entry reaches; NULL: all */
	const struct kl_reached *reached;
	/* further names that may be undefined, since the linker makes them traps; NULL: none */
	const struct kl_strvec *traps;
	bool openmp; /* functions of OpenMP may be undefined, since the worker has them */
};

/**
 * Audit the object `k` of a kernel before it is linked. It must have only sections of code and
 * data, and no constructors, IFUNC, TLS or executable stack. Each undefined symbol that the entry
 * reaches must be of an allowed kind (kl_symbol_kind), in `defined`, in `traps` or, with `openmp`,
 * a function of OpenMP (image/openmp_symbols.h). The object must not define a name of a library
 * function or of the gate; it may define `main` if the entry does not reach it. KL_ENO: the object
 * is refused; the message is the reason for a verdict of class "cheat".
 */
int kl_audit_object(const struct kl_audit *audit, size_t k);

#endif
