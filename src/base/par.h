/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BASE_PAR_H
#define KL_BASE_PAR_H

#include <stdbool.h>
#include <stddef.h>

/*
 * par - runs a loop in parallel on the processors that this thread can use.
 *
 * The range [0, n) is cut into pieces of length `grain` (the last can be shorter). The pieces do
 * not depend on the number of processors. A result that is combined from the pieces in order is
 * therefore the same for any number of processors. Threads are created and joined within the call,
 * so that the process has no such thread when it forks. The calling thread runs all pieces itself
 * if there is one processor (e.g. a thread pinned for a measurement) or one piece, or if no thread
 * can be created.
 *
 * `fn` runs in other threads. It must not set errors, because each thread has its own error
 * message; base/tasks.h passes errors to the calling thread.
 *
 *	static void add(void *ctx, size_t from, size_t to);
 *	kl_par_for(n, 65536, add, &sums);
 */
typedef void kl_par_fn(void *ctx, size_t from, size_t to);
void kl_par_for(size_t n, size_t grain, kl_par_fn *fn, void *ctx);

/** Return the maximum number of threads that kl_par_for() uses, including the calling thread. */
size_t kl_par_width(void);

/* Copy a large block in parallel, like memcpy(); return true if two large blocks are equal. */
void kl_par_copy(void *to, const void *from, size_t n);
bool kl_par_same(const void *left, const void *right, size_t n);
/**
 * Fault in the pages of a mapping in parallel. With `write`, fault them in for writing, which gives
 * a private mapping its own copy of each page.
 */
void kl_par_populate(void *at, size_t n, bool write);

#endif
