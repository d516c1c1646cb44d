/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CONTRACT_POINTER_USE_H
#define KL_CONTRACT_POINTER_USE_H

#include "contract/prototype_parts.h"

/*
 * pointer_use - finds out whether a function writes through a pointer, from the source's tokens. It
 * follows elements, copies of the pointer, macros, and functions of the same source. What it cannot
 * follow is unknown, never a guess.
 */
enum kl_pointer_use {
	KL_POINTER_UNKNOWN,
	KL_POINTER_READ,    /* it only reads */
	KL_POINTER_WRITTEN, /* it writes, and may read */
};

/**
 * Return how `found` uses its parameter `name`, whose elements take `axes` brackets. *read_first is
 * true if the first element that it uses is read before it is written, as far as the order of the
 * tokens tells.
 */
enum kl_pointer_use kl_pointer_use(bool *read_first, const struct kl_founds *all,
				   const struct kl_found *found, const char *name, size_t axes);

#endif
