/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_SUBJECT_TEAM_H
#define KL_WORKER_SUBJECT_TEAM_H

#include <stdbool.h>
#include <stdint.h>

#include "worker/subject/wire.h"

/*
 * team - the threads of a kernel with OpenMP, in the child. The child starts them before it is
 * sealed, because no thread can be started afterwards. They wait in kl_team_loop() until the kernel
 * begins a parallel region, run one function, and wait again.
 *
 * Between two calls no thread may run. The parent (threads.h) stops all of them after each call,
 * and finds out whether each waits in the loop, on its own stack, for a region that has not begun.
 * The loop is assembly that needs only the stack pointer and one register, so a thread in the loop
 * runs no code of the kernel until the kernel's first thread begins a region, whatever the kernel
 * did to the memory of this process.
 *
 * Threads share the thread pointer of the first thread, so that errno of library code, which an
 * image finds relative to it (image/image.h), exists once. A thread knows its number by the address
 * of its stack.
 *
 * All state is in memory that the kernel can write. A kernel that changes it can harm only itself.
 *
 * The loop exists for x86-64 only. On other processors kl_team_start() fails.
 */
#define KL_TEAM_SHARES 8 /* maximum number of constructs that a team can be in at a time */

/* A construct whose work is shared (openmp_share.c), such as a loop and its iterations. */
struct kl_share {
	uint32_t lock;
	uint32_t use;  /* number of the construct that this entry serves, from 1; 0 if free */
	uint32_t left; /* threads that have left the construct */
	uint32_t waiting;
	uint64_t count, chunk; /* iterations in all; iterations in a chunk */
	uint64_t next;         /* the first iteration that no thread has taken */
	uint64_t start, end, step;
	uint32_t turn;       /* number of the chunk whose ordered regions may run */
	uint32_t turn_waits; /* threads that wait for their turn */
	int schedule;        /* enum kl_schedule of openmp.h */
	void *copy;          /* copyprivate data of the thread that ran the single region */
} __attribute__((aligned(64)));

/* The threads that run a parallel region. */
struct kl_team {
	uint32_t size;
	uint32_t level;  /* number of nested regions, this one included */
	bool active;     /* this region, or a region around it, has more than one thread */
	uint32_t inside; /* 1 if its threads begin inside of the construct share[0]; otherwise 0 */
	uint32_t arrived, phase, waiting; /* barrier */
	struct kl_share share[KL_TEAM_SHARES];
};

/* The state of a thread in the region that it runs. */
struct kl_member {
	struct kl_team *team;
	uint32_t id;            /* number in the team */
	uint32_t shares;        /* number of constructs that the thread has met in this region */
	struct kl_share *share; /* the construct that the thread is in */
	uint64_t trip;          /* static loop: number of chunks that it took */
	uint64_t turn;          /* ordered loop: number of its chunk */
};

/** Return the state of this thread. */
struct kl_member *kl_team_self(void);
/** Return the number of threads that a region can have. */
uint32_t kl_team_most(void);
/** Enter a region of `team` with fn(data) in each of its threads, and wait for its end. */
void kl_team_run(struct kl_team *team, void (*fn)(void *), void *data);
/** The team of a region with several threads; there is at most one such region at a time. */
extern struct kl_team kl_team_all;

/** Sleep while *word is `value`. The function can also return early. */
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
 * Start threads 1 to n - 1, and wait until each is sealed. The stacks of all threads lie in a row:
 * that of thread i ends at `stack` + i * KL_WIRE_STRIDE. Thread i runs on processor cpu[i]; -1 for
 * any.
 */
int kl_team_start(uint32_t n, uint64_t stack, const int16_t *cpu);
/**
 * Store in *hello the addresses of the labels of the team's loop and of kl_team_regions. The parent
 * process uses them to find out whether a thread waits for work.
 */
void kl_team_describe(struct kl_hello *hello);

#endif
