/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_RETRIEVE_CONSTANTS_H
#define KL_RETRIEVE_CONSTANTS_H

#include "card/card.h"
#include "contract/surface.h"

/*
 * constants - reads the named integer constants of a kernel's sources.
 *
 * Predicates use constants by name, and anchors are found by them. Constants are read from
 *
 *	#define BM 128		constexpr int STAGES = 4;		enum { MR = 6, NR = 16 };
 *
 * and from `define` in the launch plan. Only decimal literals are read, not computed values or
 * hexadecimal masks. Sources are untrusted: names longer than 63 bytes are skipped, and at most
 * KL_CONSTANTS_MAX constants are read.
 */
#define KL_CONSTANTS_MAX 1024

/**
 * Append the constants to `out`, sorted by name. If a name is defined more than once, the first
 * definition is used; sources come before the launch plan.
 */
void kl_constants_read(struct kl_card_dims *out, const struct kl_surface *surface);
void kl_constants_release(struct kl_card_dims *dims);

#endif
