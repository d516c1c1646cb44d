/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_SUBJECT_OPENMP_H
#define KL_WORKER_SUBJECT_OPENMP_H

#include "worker/subject/team.h"

/*
 * openmp - the functions of OpenMP that kernels may call, built on the threads of team.h. Their
 * names are listed in image/openmp_symbols.h. A region inside of another has one thread, and a task
 * runs at once in the thread that meets it. Schedule `runtime` is static. No function reads a clock
 * or the environment.
 */
typedef void (*kl_openmp_function)(void);

/** Return the function of this name; NULL if there is none. */
kl_openmp_function kl_openmp_find(const char *name);

enum kl_schedule { KL_SCHEDULE_STATIC, KL_SCHEDULE_DYNAMIC, KL_SCHEDULE_GUIDED };

/* A loop with a signed or unsigned counter; all arithmetic wraps around at 64 bits. */
struct kl_loop {
	uint64_t start, end, step;
	uint64_t count; /* number of iterations */
	uint64_t chunk; /* 0 if not given */
	enum kl_schedule schedule;
};

/* An entry in a table of functions; openmp.c and openmp_loop.c have one table each. */
struct kl_openmp_entry {
	const char *name;
	kl_openmp_function function;
};
extern const struct kl_openmp_entry kl_openmp_loops[], kl_openmp_calls[];

/**
 * Enter the next construct that shares work in this thread's team. Return true in the first thread
 * that enters it. The construct then stays locked until that thread calls kl_share_opened(), so
 * that it can first describe the work.
 */
bool kl_share_enter(struct kl_member *member);
void kl_share_opened(struct kl_member *member);
/** Leave the construct without waiting for others. */
void kl_share_leave(struct kl_member *member);
/** Describe a loop to the threads that share it. */
void kl_share_describe(struct kl_share *share, const struct kl_loop *loop, uint32_t size);
/** Run a parallel region whose threads all begin inside of `loop`; NULL outside of any loop. */
void kl_openmp_region(void (*fn)(void *), void *data, unsigned threads, const struct kl_loop *loop);

#endif
