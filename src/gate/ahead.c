/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/ahead.h"

#include "base/tasks.h"

struct both {
	const struct kl_runner *runner;
	const struct kl_runner_work *work;
	json_t *result;
	struct kl_builder *builder;
	const struct kl_ahead *next;
};

static int run_work(void *ctx)
{
	struct both *both = ctx;

	return both->runner->way->run(&both->result, both->work);
}

static int compile_next(void *ctx)
{
	struct both *both = ctx;
	struct kl_builder_needs needs = {
		.candidate = both->next->candidate,
		.parent = both->next->parent,
	};
	struct kl_platform platform;
	struct kl_builder_set set;
	int err = kl_builder_platform(&platform, both->builder, needs.candidate);

	if (err < 0)
		return err;
	if (both->next->baseline)
		needs.march = platform.march;
	return kl_builder_all(&set, both->builder, &needs);
}

int kl_ahead_run(json_t **result, const struct kl_runner *runner, const struct kl_runner_work *work,
		 struct kl_builder *builder, const struct kl_ahead *next)
{
	struct both both = { runner, work, NULL, builder, next };
	struct kl_task task[] = {
		{ .run = run_work, .ctx = &both },
		{ .run = compile_next, .ctx = &both },
	};
	struct kl_progress *progress = builder->progress;
	int err;

	/* show the progress of the job, not of the compilation that runs at the same time */
	builder->progress = NULL;
	kl_tasks_run(task, work->device && next->candidate ? 2 : 1);
	builder->progress = progress;
	err = kl_task_result(&task[0]);
	kl_tasks_release(task, KL_ARRAY_SIZE(task));
	*result = both.result;
	return err;
}
