/* SPDX-License-Identifier: Apache-2.0 */
#include "base/par.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#define MAX_THREADS 32
#define STACK_BYTES ((size_t)2 << 20)
#define COPY_GRAIN ((size_t)4 << 20)
#define PAGE ((size_t)4096)
#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif

struct loop {
	size_t n, grain;
	kl_par_fn *fn;
	void *ctx;
	atomic_size_t next; /* next piece to run */
};

static void work_loop(struct loop *loop)
{
	size_t pieces = (loop->n + loop->grain - 1) / loop->grain, i;

	while ((i = atomic_fetch_add(&loop->next, 1)) < pieces) {
		size_t from = i * loop->grain;

		loop->fn(loop->ctx, from,
			 loop->n - from < loop->grain ? loop->n : from + loop->grain);
	}
}

static void *thread_main(void *data)
{
	work_loop(data);
	return NULL;
}

size_t kl_par_width(void)
{
	cpu_set_t set;
	size_t n = sched_getaffinity(0, sizeof(set), &set) < 0 ? 1 : (size_t)CPU_COUNT(&set);

	return n < MAX_THREADS ? n : MAX_THREADS;
}

/*
 * Start up to `want` threads and return how many were started. Signals are blocked in these
 * threads, so that the calling thread handles all signals.
 */
static size_t start_threads(pthread_t *thread, size_t want, struct loop *loop)
{
	pthread_attr_t attr;
	sigset_t all, before;
	size_t n = 0;

	if (!want || pthread_attr_init(&attr))
		return 0;
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	while (n < want && !pthread_create(&thread[n], &attr, thread_main, loop))
		n++;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	return n;
}

void kl_par_for(size_t n, size_t grain, kl_par_fn *fn, void *ctx)
{
	struct loop loop = { .n = n, .grain = grain ? grain : 1, .fn = fn, .ctx = ctx };
	size_t pieces = n / loop.grain + (n % loop.grain != 0),
	       have = pieces > 1 ? kl_par_width() : 1, started;
	pthread_t threads[MAX_THREADS];

	have = have > pieces ? pieces : have;
	started = start_threads(threads, have > 1 ? have - 1 : 0, &loop);
	work_loop(&loop);
	for (size_t i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
}

/* --- copying, comparing and faulting in memory ----------------------------------------- */

struct pair {
	char *to;
	const char *from;
	atomic_bool differs;
	bool write;
};

static void copy_part(void *ctx, size_t from, size_t to)
{
	struct pair *pair = ctx;

	memcpy(pair->to + from, pair->from + from, to - from);
}

void kl_par_copy(void *to, const void *from, size_t n)
{
	struct pair pair = { .to = to, .from = from };

	kl_par_for(n, COPY_GRAIN, copy_part, &pair);
}

static void compare_part(void *ctx, size_t from, size_t to)
{
	struct pair *pair = ctx;

	if (!atomic_load(&pair->differs) && memcmp(pair->to + from, pair->from + from, to - from))
		atomic_store(&pair->differs, true);
}

bool kl_par_same(const void *left, const void *right, size_t n)
{
	struct pair pair = { .to = (char *)left, .from = right };

	kl_par_for(n, COPY_GRAIN, compare_part, &pair);
	return !atomic_load(&pair.differs);
}

/*
 * Fault in a part of a mapping. Linux before 5.14 does not support this advice; pages are then
 * faulted in on first use.
 */
static void populate_part(void *ctx, size_t from, size_t to)
{
	struct pair *pair = ctx;

	madvise(pair->to + from, to - from, pair->write ? MADV_POPULATE_WRITE : MADV_POPULATE_READ);
}

void kl_par_populate(void *at, size_t n, bool write)
{
	struct pair pair = { .to = at, .write = write };
	int before = errno;

	kl_par_for((n + PAGE - 1) / PAGE * PAGE, 4 * COPY_GRAIN, populate_part, &pair);
	errno = before;
}
