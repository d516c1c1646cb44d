/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_RETRIEVE_CONSTANTS_H
#define KL_RETRIEVE_CONSTANTS_H

#include "card/card.h"
#include "contract/surface.h"

/*
 * constants - the whole numbers that a kernel's sources give a name: what a predicate may ask for
 * by that name, and what an anchor may look for.
 *
 *	#define BM 128		constexpr int STAGES = 4;		enum { MR = 6, NR = 16 };
 *
 * and `define` of the launch plan. Decimal literals alone: what must be computed is left out, and
 * so is a mask in hexadecimal. Sources are hostile: a name has at most 63 bytes, and
 * KL_CONSTANTS_MAX are read.
 */
#define KL_CONSTANTS_MAX 1024

/** Sorted by name; of several of one name the first, the sources before the plan. */
void kl_constants_read(struct kl_card_dims *out, const struct kl_surface *surface);
void kl_constants_release(struct kl_card_dims *dims);

#endif
