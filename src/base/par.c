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
	atomic_size_t next; /* piece */
};

static void work_loop(struct loop *l)
{
	size_t pieces = (l->n + l->grain - 1) / l->grain, i;

	while ((i = atomic_fetch_add(&l->next, 1)) < pieces) {
		size_t from = i * l->grain;

		l->fn(l->ctx, from, l->n - from < l->grain ? l->n : from + l->grain);
	}
}

static void *thread_main(void *p)
{
	work_loop(p);
	return NULL;
}

size_t kl_par_width(void)
{
	cpu_set_t set;
	size_t n = sched_getaffinity(0, sizeof(set), &set) < 0 ? 1 : (size_t)CPU_COUNT(&set);

	return n < MAX_THREADS ? n : MAX_THREADS;
}

/* Signals are the first thread's. */
static size_t start_threads(pthread_t *t, size_t want, struct loop *l)
{
	pthread_attr_t attr;
	sigset_t all, before;
	size_t n = 0;

	if (!want || pthread_attr_init(&attr))
		return 0;
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	while (n < want && !pthread_create(&t[n], &attr, thread_main, l))
		n++;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	return n;
}

void kl_par_for(size_t n, size_t grain, kl_par_fn *fn, void *ctx)
{
	struct loop l = { .n = n, .grain = grain ? grain : 1, .fn = fn, .ctx = ctx };
	size_t pieces = n / l.grain + (n % l.grain != 0), have = pieces > 1 ? kl_par_width() : 1,
	       started;
	pthread_t t[MAX_THREADS];

	have = have > pieces ? pieces : have;
	started = start_threads(t, have > 1 ? have - 1 : 0, &l);
	work_loop(&l);
	for (size_t i = 0; i < started; i++)
		pthread_join(t[i], NULL);
}

/* -- memory ------------------------------------------------------------------ */

struct pair {
	char *to;
	const char *from;
	atomic_bool differs;
	bool write;
};

static void copy_part(void *ctx, size_t from, size_t to)
{
	struct pair *p = ctx;

	memcpy(p->to + from, p->from + from, to - from);
}

void kl_par_copy(void *to, const void *from, size_t n)
{
	struct pair p = { .to = to, .from = from };

	kl_par_for(n, COPY_GRAIN, copy_part, &p);
}

static void compare_part(void *ctx, size_t from, size_t to)
{
	struct pair *p = ctx;

	if (!atomic_load(&p->differs) && memcmp(p->to + from, p->from + from, to - from))
		atomic_store(&p->differs, true);
}

bool kl_par_same(const void *a, const void *b, size_t n)
{
	struct pair p = { .to = (char *)a, .from = b };

	kl_par_for(n, COPY_GRAIN, compare_part, &p);
	return !atomic_load(&p.differs);
}

/* Kernels before 5.14 do not know it: then pages come when they are touched. */
static void populate_part(void *ctx, size_t from, size_t to)
{
	struct pair *p = ctx;

	madvise(p->to + from, to - from, p->write ? MADV_POPULATE_WRITE : MADV_POPULATE_READ);
}

void kl_par_populate(void *at, size_t n, bool write)
{
	struct pair p = { .to = at, .write = write };
	int before = errno;

	kl_par_for((n + PAGE - 1) / PAGE * PAGE, 4 * COPY_GRAIN, populate_part, &p);
	errno = before;
}
