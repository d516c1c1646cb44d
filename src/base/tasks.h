/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BASE_TASKS_H
#define KL_BASE_TASKS_H

#include <stddef.h>

/*
 * tasks - a few long jobs at once, as many as there are processors: programs to be waited for,
 * mostly. Each has an error of its own, which its thread would take away with it.
 *
 * Jobs are begun in order, so the longest is best first. They share nothing but what each only
 * reads.
 *
 *	struct kl_task t[2] = { { .run = compile, .ctx = &a }, { .run = compile, .ctx = &b } };
 *	kl_tasks_run(t, 2);
 *	err = kl_task_result(&t[0]);	the error of the first, message and hints, as if it had run here
 *	kl_tasks_release(t, 2);
 */
struct kl_task {
	int (*run)(void *ctx); /* 0 or enum kl_err, set in its own thread */
	void *ctx;
	int err;
	char *message, *hints; /* of a failed one */
};

void kl_tasks_run(struct kl_task *task, size_t n);
int kl_task_result(const struct kl_task *task);
void kl_tasks_release(struct kl_task *task, size_t n);

#endif
