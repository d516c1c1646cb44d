/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_SUBJECT_TEAM_H
#define KL_WORKER_SUBJECT_TEAM_H

#include <stdbool.h>
#include <stdint.h>

#include "worker/subject/wire.h"

/*
 * team - the threads of a kernel with OpenMP, in the child. The child starts them before it is
 * sealed, because no thread can be started afterwards. They wait in kl_team_loop() until the
 * kernel begins a parallel region, run one function, and wait again.
 *
 * Between two calls no thread may run. The parent (threads.h) stops all of them after each call,
 * and finds out whether each waits in the loop, on its own stack, for a region that has not begun.
 * The loop is assembly that needs only the stack pointer and one register, so that whatever the
 * kernel did to the memory of this process, a thread there runs no code of the kernel until the
 * kernel's first thread begins a region.
 *
 * Threads share the thread pointer of the first thread, so that errno of library code, which an
 * image finds relative to it (image/image.h), exists once. A thread knows its number by the
 * address of its stack.
 *
 * All state is in memory that the kernel can write. A kernel that changes it can harm only itself.
 *
 * The loop exists for x86-64 only. On other processors kl_team_start() fails.
 */
#define KL_TEAM_SHARES 8 /* constructs that a team can have begun at a time */

/* How the iterations of a loop are distributed; see openmp_loop.c. */
struct kl_share {
	uint32_t lock;
	uint32_t use;  /* number of the construct that this serves, from 1; 0: free */
	uint32_t left; /* threads that have left the construct */
	uint32_t waiting;
	uint64_t count, chunk; /* number of iterations; of those in a chunk */
	uint64_t next;         /* the next iteration that no thread has */
	uint64_t start, end, step;
	uint32_t turn;       /* number of the chunk whose ordered regions may run */
	uint32_t turn_waits; /* threads that wait for their turn */
	int schedule;        /* enum kl_schedule of openmp_loop.c */
	void *copy;          /* copyprivate: from the thread that ran the single region */
} __attribute__((aligned(64)));

/* The threads that run a parallel region. */
struct kl_team {
	uint32_t size;
	uint32_t level;  /* number of regions around, this one included */
	bool active;     /* it or a region around it has more than one thread */
	uint32_t inside; /* 1: its threads begin inside of the construct share[0]; otherwise 0 */
	uint32_t arrived, phase, waiting; /* barrier */
	struct kl_share share[KL_TEAM_SHARES];
};

/* What a thread knows of its place in the region that it runs. */
struct kl_member {
	struct kl_team *team;
	uint32_t id;            /* number in the team */
	uint32_t shares;        /* number of constructs that it has met in this region */
	struct kl_share *share; /* the construct that it is in */
	uint64_t trip;          /* number of chunks that it got from `share` */
	uint64_t turn;          /* ordered loop: number of its chunk */
};

/** Return the state of this thread. */
struct kl_member *kl_team_self(void);
/** Return the number of threads that a region can have. */
uint32_t kl_team_most(void);
/** Enter a region of `team` with fn(data) in each of its threads, and wait for its end. */
void kl_team_run(struct kl_team *team, void (*fn)(void *), void *data);
/** The team of the largest region, which one region at a time uses. */
extern struct kl_team kl_team_all;

/** Sleep while *word is `value`, or return for no reason. */
void kl_team_sleep(uint32_t *word, uint32_t value);
/** Wake up to `n` threads that sleep on *word. */
void kl_team_wake(uint32_t *word, uint32_t n);
/** Wait until *word is not `value`, counting this thread in *waiting while it sleeps. */
void kl_team_await(uint32_t *word, uint32_t value, uint32_t *waiting);
/** Wake all threads in kl_team_await(word), after *word was changed. */
void kl_team_changed(uint32_t *word, const uint32_t *waiting);
void kl_team_lock(uint32_t *lock);
void kl_team_unlock(uint32_t *lock);
/** Wait until all threads of the team have called this. */
void kl_team_barrier(struct kl_team *team);

/**
 * Start threads 1 to n - 1, and wait until each is sealed and waits. The stacks of all threads lie
 * in a row: that of thread i ends at `stack` + i * KL_WIRE_STRIDE. Thread i runs on processor
 * cpu[i]; -1: any.
 */
int kl_team_start(uint32_t n, uint64_t stack, const int16_t *cpu);
/** Set the addresses of *hello that the parent needs to find out whether threads wait. */
void kl_team_describe(struct kl_hello *hello);

#endif
