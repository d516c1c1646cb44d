/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_PROBE_WHEN_SVG_H
#define KL_PROBE_WHEN_SVG_H

#include "probe/when.h"

/*
 * when_svg - draws a map as SVG: sizes across and upward, and in each cell the result at that
 * point, as a sign and a number. The fills have the same meanings as the signs, and differ in
 * lightness, so that the map can be read without colors. There are no scripts and no links.
 */
void kl_when_svg(struct kl_buf *out, const struct kl_when *when);

/* The result in a cell of a map, for all ways of showing it. */
enum kl_when_mark {
	KL_WHEN_MARK_LEFT,     /* not judged yet */
	KL_WHEN_MARK_UNTESTED, /* cannot be judged */
	KL_WHEN_MARK_FASTER,
	KL_WHEN_MARK_SLOWER,
	KL_WHEN_MARK_SAME,
	KL_WHEN_MARK_UNCLEAR, /* the interval decides nothing */
	KL_WHEN_MARK_FAILS,   /* only b fails */
	KL_WHEN_MARK_FAILS_A, /* only a fails */
	KL_WHEN_MARK_BOTH_FAIL,
};
enum kl_when_mark kl_when_mark(const struct kl_when_point *point);
/** Return the sign of a mark, one or two ASCII characters, and its meaning. */
const char *kl_when_mark_sign(enum kl_when_mark mark);
const char *kl_when_mark_text(enum kl_when_mark mark);

#endif
