/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_C_LINK_VARIANT_H
#define KL_BACKEND_C_LINK_VARIANT_H

#include "backend/c/link/object.h"

/*
 * variant - chooses the form of a library function for a level of x86-64. At x86-64-v3, for
 * example, the form of sin is __sin_fma.
 *
 * The system's libraries choose the form at load: an IFUNC resolver asks the processor. The gate
 * instead reads the available forms from the resolver's relocations and chooses by the kernel's
 * platform. Therefore a kernel has the same code on every machine, and no code runs before its
 * entry.
 */

/**
 * Find the form of an IFUNC for a level. `sym` is the index of the IFUNC in the object's symbols;
 * *out is set to the index of the form. Return KL_ECANNOT if the object has no known form for this
 * level.
 */
int kl_variant_choose(size_t *out, const struct kl_object *object, size_t sym, int level);

#endif
