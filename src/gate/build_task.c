/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/build_task.h"

#include <stdlib.h>

#include "backend/object_cache.h"
#include "base/error.h"
#include "base/fs.h"

void kl_built_free(struct kl_built *built)
{
	if (!built)
		return;
	kl_artefact_free(built->artefact);
	free(built->message);
	free(built);
}

static bool is_oracle(const struct kl_build_task *task)
{
	return task->kind == KL_BUILD_TRUTH || task->kind == KL_BUILD_HONEST;
}

static enum kl_oracle arithmetic_of(const struct kl_build_task *task)
{
	return task->kind == KL_BUILD_TRUTH ? KL_ORACLE_TRUTH : KL_ORACLE_HONEST;
}

char *kl_build_task_oracle_path(const struct kl_build_task *task)
{
	return kl_asprintf("%s/%s.%s", task->dir, kl_oracle_name(arithmetic_of(task)),
			   task->backend->object);
}

/* -- the cache of oracles -------------------------------------------------------------------- */

/* Digest all that a compiled oracle depends on. Return false if the backend reports an error. */
static bool oracle_key(char hex[KL_DIGEST_HEX], const struct kl_build_task *task)
{
	struct kl_digest *digest = kl_objects_key(kl_oracle_name(arithmetic_of(task)));
	KL_AUTO(kl_buf_release) struct kl_buf plan = KL_BUF_INIT;
	KL_AUTO(json_decrefp) json_t *doc = NULL;
	int err;

	kl_digest_adds(digest, task->surface->contract_digest);
	if (task->launch) {
		doc = kl_plan_to_json(task->launch->plan);
		kl_json_canonical(&plan, doc);
		kl_digest_adds(digest, task->launch->arch);
		kl_digest_add(digest, plan.ptr, plan.len);
	}
	err = task->backend->recipe(digest, task->state);
	kl_digest_end(digest, hex);
	return !err;
}

static bool oracle_is_kept(const struct kl_build_task *task, struct kl_repo *repo)
{
	KL_AUTO(kl_freep) char *path = kl_build_task_oracle_path(task);
	char hex[KL_DIGEST_HEX];

	return repo && kl_oracle_filled(task->surface) == 0 && oracle_key(hex, task) &&
	       kl_objects_get(repo, hex, path) == 0;
}

static void keep_oracle(const struct kl_build_task *task, struct kl_repo *repo)
{
	KL_AUTO(kl_freep) char *path = kl_build_task_oracle_path(task);
	char hex[KL_DIGEST_HEX];

	if (repo && oracle_key(hex, task))
		kl_objects_put(repo, hex, path);
}

/* -- the cache of baselines ------------------------------------------------------------------ */

/* Digest all that a compiled baseline depends on. Return false if it has no shipped source. */
static bool baseline_key(char hex[KL_DIGEST_HEX], const struct kl_build_task *task)
{
	struct kl_digest *digest = kl_objects_key("baseline");
	int err;

	kl_digest_adds(digest, task->surface->contract_digest);
	kl_digest_adds(digest, task->march);
	err = task->backend->baseline_recipe(digest, task->state, task->surface);
	kl_digest_end(digest, hex);
	return !err;
}

static void take_baseline(struct kl_build_task *task, struct kl_repo *repo)
{
	KL_AUTO(kl_freep) char *path = kl_asprintf("%s/kept.%s", task->dir, task->backend->object);
	char hex[KL_DIGEST_HEX];

	if (repo && baseline_key(hex, task) && kl_objects_get(repo, hex, path) == 0)
		task->kept = kl_steal(&path);
}

static void keep_baseline(const struct kl_build_task *task, struct kl_repo *repo)
{
	char hex[KL_DIGEST_HEX];

	if (repo && task->baseline && !task->kept && baseline_key(hex, task))
		kl_objects_put(repo, hex, task->baseline->object);
}

/* -- compiling ------------------------------------------------------------------------------- */

static int compile_surface(struct kl_build_task *task)
{
	struct kl_built *built = kl_calloc(1, sizeof(*built));
	int err;

	task->built = built;
	err = task->backend->compile(&built->artefact, &built->class_, task->state, task->surface,
				     task->dir);
	if (err == KL_ENO) {
		built->message = kl_strdup(kl_error_last());
		return 0;
	}
	return err;
}

static int compile_task(void *ctx)
{
	struct kl_build_task *task = ctx;
	int err = kl_fs_mkdir(task->dir);

	if (err < 0)
		return err;
	if (task->kind == KL_BUILD_SURFACE)
		return compile_surface(task);
	if (task->kind == KL_BUILD_BASELINE)
		return task->backend->baseline(&task->baseline, task->state, task->surface,
					       task->march, task->dir, task->kept);
	return task->backend->oracle(task->state, task->surface, task->launch, arithmetic_of(task),
				     task->dir);
}

/* -- all tasks ------------------------------------------------------------------------------ */

static int take_from_cache(void *ctx)
{
	return 0;
}

size_t kl_build_tasks_add(struct kl_build_tasks *tasks, const struct kl_build_task *task)
{
	tasks->item[tasks->n] = *task;
	tasks->task[tasks->n] = (struct kl_task){ .run = compile_task,
						  .ctx = &tasks->item[tasks->n] };
	return tasks->n++;
}

/*
 * Only this thread uses the repository's cache: it reads the cache before it starts the tasks, and
 * writes to the cache when all tasks have ended.
 */
void kl_build_tasks_compile(struct kl_build_tasks *tasks)
{
	for (size_t i = 0; i < tasks->n; i++) {
		struct kl_build_task *task = &tasks->item[i];

		if (is_oracle(task) && oracle_is_kept(task, tasks->repo))
			tasks->task[i].run = take_from_cache;
		else if (task->kind == KL_BUILD_BASELINE)
			take_baseline(task, tasks->repo);
	}
	kl_error_clear();
	kl_tasks_run(tasks->task, tasks->n);
	for (size_t i = 0; i < tasks->n; i++) {
		struct kl_build_task *task = &tasks->item[i];

		if (tasks->task[i].err)
			continue;
		if (is_oracle(task) && tasks->task[i].run == compile_task)
			keep_oracle(task, tasks->repo);
		else if (task->kind == KL_BUILD_BASELINE)
			keep_baseline(task, tasks->repo);
	}
	kl_error_clear();
}

void kl_build_tasks_release(struct kl_build_tasks *tasks)
{
	kl_tasks_release(tasks->task, tasks->n);
	for (size_t i = 0; i < tasks->n; i++) {
		free(tasks->item[i].dir);
		free(tasks->item[i].kept);
		kl_built_free(tasks->item[i].built);
		kl_artefact_free(tasks->item[i].baseline);
	}
	tasks->n = 0;
}
