/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BASE_PAR_H
#define KL_BASE_PAR_H

#include <stdbool.h>
#include <stddef.h>

/*
 * par - a loop over all processors that this thread may use.
 *
 * [0, n) is cut into pieces of `grain` (the last may be shorter), the same ones however many
 * processors there are: what is worked out for each piece and put together in order does not depend
 * on their number. Threads are made and joined within the call, so that none is there at a fork.
 * With one processor (a thread that is pinned while it measures), one piece, or no thread to be
 * had, the caller does it all.
 *
 * `fn` runs in other threads: it must not set errors, which are the thread's own (base/tasks.h
 * keeps them).
 *
 *	static void add(void *ctx, size_t from, size_t to);
 *	kl_par_for(n, 65536, add, &sums);
 */
typedef void kl_par_fn(void *ctx, size_t from, size_t to);
void kl_par_for(size_t n, size_t grain, kl_par_fn *fn, void *ctx);

/** How many threads may be of use, this one included. */
size_t kl_par_width(void);

/* memcpy and memcmp == 0 of what is large */
void kl_par_copy(void *to, const void *from, size_t n);
bool kl_par_same(const void *left, const void *right, size_t n);
/** Have the pages of a mapping at hand, all at once instead of one by one; `write`: as one's own. */
void kl_par_populate(void *at, size_t n, bool write);

#endif
