/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_C_LINK_VARIANT_H
#define KL_BACKEND_C_LINK_VARIANT_H

#include "backend/c/link/object.h"

/*
 * variant - chooses the form of a library function for a level of x86-64: __sin_fma for sin at
 * x86-64-v3.
 *
 * The system's libraries choose at load, by code that asks the processor (an IFUNC resolver). The
 * gate reads from that code which forms there are and chooses by the platform of the contract, so
 * that a kernel has the same code on every machine and nothing of it runs before its entry.
 */

/**
 * Find the symbol to use instead of symbol `sym` of `object`, an IFUNC, at a level; the object's
 * symbol table has it. KL_ECANNOT: there is no form that is known.
 */
int kl_variant_choose(size_t *out, const struct kl_object *object, size_t sym, int level);

#endif
