/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_PROBE_DISPATCH_H
#define KL_PROBE_DISPATCH_H

#include "probe/sound.h"
#include "probe/when.h"

/*
 * dispatch - writes a C header that chooses between the two kernels of a map by the dims.
 *
 * The header has one static inline function, <kernel>_dispatch, which returns <KERNEL>_DISPATCH_A
 * or <KERNEL>_DISPATCH_B, and a comment with the rule, its measured interval and the ids of the
 * events that it rests on. It is valid C11 and C++11. B is chosen only inside the contract's
 * domain, where the condition of the map holds, and where the conditions hold under which a probe
 * found b right (sound.h); A is chosen in all other cases, ties included. Where such a condition is
 * about the address of a tensor, the function has a parameter for it. If b fails at a point of the
 * map where all these hold, a further condition must exclude all failures; if none does, or if the
 * probe found failures in the domain that no size explains, B is never chosen.
 */

/* A condition on one dim that excludes the points at which b fails. */
struct kl_dispatch_guard {
	bool there;
	size_t dim;
	int64_t divisor; /* the dim is a multiple of it; 0 if the dim is at least `least` */
	int64_t least;
	size_t failures; /* points that it excludes */
};

struct kl_dispatch {
	bool some; /* true if B is chosen somewhere; otherwise `why` has the reason */
	struct kl_dispatch_guard guard;
	const char *why;
	const struct kl_sound *sound; /* borrowed */
	/* number of points where B is chosen, and of those where b is faster and where it is not */
	size_t chosen, gains, others;
	struct kl_ratio ratio; /* geometric mean over them; least lower and greatest upper bound */
};

/**
 * Fit `useful` of the map again, without the points that a condition of the probe excludes, because
 * the speed of b does not matter where b is wrong.
 */
void kl_dispatch_fit(struct kl_when *when, const struct kl_sound *sound);
/** Choose by the map and by the findings of probes; the rule borrows both. */
void kl_dispatch_choose(struct kl_dispatch *out, const struct kl_when *when,
			const struct kl_sound *sound);
/** Return true if the rule chooses b at a point of the domain. */
bool kl_dispatch_takes_b(const struct kl_dispatch *dispatch, const struct kl_when *when,
			 const struct kl_when_point *point);
void kl_dispatch_header(struct kl_buf *out, const struct kl_dispatch *dispatch,
			const struct kl_when *when);
/** Return the name of the function, which is a C identifier; the caller frees it. */
char *kl_dispatch_name(const struct kl_when *when);

#endif
