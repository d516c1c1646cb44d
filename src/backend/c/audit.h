/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_C_AUDIT_H
#define KL_BACKEND_C_AUDIT_H

#include "backend/c/link/object.h"
#include "backend/c/link/symbol_index.h"
#include "image/symbols.h"

/*
 * audit - checks what a kernel's object contains, before any of its code runs. It refuses what
 * published cheats use and no kernel needs.
 */

/**
 * Audit one relocatable object before it is linked. It must have only sections of code and data,
 * and no constructors, IFUNC, TLS or executable stack. Its undefined symbols must be of an allowed
 * kind (kl_symbol_kind) or be in `defined`, the index of all symbols that the kernel's objects
 * define (NULL: none). It must not define a name of a library function or of the gate. KL_ENO: the
 * object is refused; the message is the reason for a verdict of class "cheat".
 */
int kl_audit_object(const struct kl_object *object, const struct kl_symbol_index *defined);

#endif
