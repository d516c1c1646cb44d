/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BASE_TASKS_H
#define KL_BASE_TASKS_H

#include <stddef.h>

/*
 * tasks - runs a few long tasks in parallel, at most one per processor. Most tasks run a program
 * and wait for it. The error of each task is kept, since it would be lost when its thread ends.
 *
 * Tasks are started in order, so put the longest first. Tasks may only read the data that they
 * share.
 *
 *	struct kl_task t[2] = { { .run = compile, .ctx = &a }, { .run = compile, .ctx = &b } };
 *	kl_tasks_run(t, 2);
 *	err = kl_task_result(&t[0]);	sets the error of the first task in this thread
 *	kl_tasks_release(t, 2);
 */
struct kl_task {
	int (*run)(void *ctx); /* returns 0, or an error with its message set */
	void *ctx;
	int err;
	char *message, *hints; /* the error of a failed task; NULL if it did not fail */
};

void kl_tasks_run(struct kl_task *task, size_t n);
int kl_task_result(const struct kl_task *task);
void kl_tasks_release(struct kl_task *task, size_t n);

#endif
