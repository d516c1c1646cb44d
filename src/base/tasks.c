/* SPDX-License-Identifier: Apache-2.0 */
#include "base/tasks.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/par.h"

static void run_tasks(void *ctx, size_t from, size_t to)
{
	struct kl_task *t = ctx;

	for (size_t i = from; i < to; i++) {
		kl_error_clear();
		t[i].err = t[i].run(t[i].ctx);
		if (t[i].err < 0) {
			t[i].message = kl_strdup(kl_error_last());
			t[i].hints = kl_strdup(kl_error_hints());
		}
		kl_error_clear();
	}
}

void kl_tasks_run(struct kl_task *t, size_t n)
{
	kl_par_for(n, 1, run_tasks, t);
}

int kl_task_result(const struct kl_task *t)
{
	if (t->err >= 0)
		return t->err;
	kl_error((enum kl_err)t->err, "%s", t->message);
	return *t->hints ? kl_error_hint(t->err, "%s", t->hints) : t->err;
}

void kl_tasks_release(struct kl_task *t, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(t[i].message);
		free(t[i].hints);
		t[i].message = t[i].hints = NULL;
	}
}
