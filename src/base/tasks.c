/* SPDX-License-Identifier: Apache-2.0 */
#include "base/tasks.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/par.h"

static void run_tasks(void *ctx, size_t from, size_t to)
{
	struct kl_task *task = ctx;

	for (size_t i = from; i < to; i++) {
		kl_error_clear();
		task[i].err = task[i].run(task[i].ctx);
		if (task[i].err < 0) {
			task[i].message = kl_strdup(kl_error_last());
			task[i].hints = kl_strdup(kl_error_hints());
		}
		kl_error_clear();
	}
}

void kl_tasks_run(struct kl_task *task, size_t n)
{
	kl_par_for(n, 1, run_tasks, task);
}

int kl_task_result(const struct kl_task *task)
{
	if (task->err >= 0)
		return task->err;
	kl_error((enum kl_err)task->err, "%s", task->message);
	return *task->hints ? kl_error_hint(task->err, "%s", task->hints) : task->err;
}

void kl_tasks_release(struct kl_task *task, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(task[i].message);
		free(task[i].hints);
		task[i].message = task[i].hints = NULL;
	}
}
