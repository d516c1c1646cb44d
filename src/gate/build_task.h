/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_GATE_BUILD_TASK_H
#define KL_GATE_BUILD_TASK_H

#include "base/tasks.h"
#include "gate/build.h"

/*
 * build_task - compiles the tasks of a judgement in parallel. A task is a surface, an oracle in one
 * arithmetic, or a shipped baseline. Each task has its own thread, which only reads the backend's
 * state, and its own directory, which the jails of other tasks cannot access.
 *
 *	kl_build_tasks_add(&p, &(struct kl_build_task){ KL_BUILD_SURFACE, backend, state,
 *							surface, dir });
 *	kl_build_tasks_compile(&p);
 *	err = kl_task_result(&p.task[0]);	p.item[0].built
 *	kl_build_tasks_release(&p);
 */
enum kl_build_kind { KL_BUILD_SURFACE, KL_BUILD_TRUTH, KL_BUILD_HONEST, KL_BUILD_BASELINE };

struct kl_build_task {
	enum kl_build_kind kind;
	const struct kl_backend *backend;
	const void *state; /* the backend's state, prepared for the surface; borrowed */
	const struct kl_surface *surface;
	char *dir;                      /* directory that no other task uses; owned */
	const struct kl_launch *launch; /* launch plan of an oracle, or NULL; borrowed */
	const char *march;              /* architecture of a baseline; borrowed */
	char *kept; /* a baseline's object from the repository's cache, or NULL; owned */
	struct kl_built *built;       /* result for a surface; owned */
	struct kl_artefact *baseline; /* result for a baseline; owned */
};

#define KL_BUILD_TASKS_MAX 5 /* candidate, parent, oracle in two arithmetics, baseline */

struct kl_build_tasks {
	struct kl_task task[KL_BUILD_TASKS_MAX];
	struct kl_build_task item[KL_BUILD_TASKS_MAX];
	size_t n;
	/* has the cache of compiled oracles and baselines; borrowed; NULL for no cache */
	struct kl_repo *repo;
};

/**
 * Add a task, taking ownership of its `dir`, and return its index. The caller sets `launch` or
 * `march` before kl_build_tasks_compile().
 */
size_t kl_build_tasks_add(struct kl_build_tasks *tasks, const struct kl_build_task *task);
/**
 * Compile all tasks, or copy oracles and baselines from the repository's cache. kl_task_result() returns the
 * error of each task. A refused surface is not an error: its built->artefact is NULL.
 */
void kl_build_tasks_compile(struct kl_build_tasks *tasks);
void kl_build_tasks_release(struct kl_build_tasks *tasks);

void kl_built_free(struct kl_built *built);

/** Return the path of an oracle's artefact, "<dir>/truth.image"; the caller frees it. */
char *kl_build_task_oracle_path(const struct kl_build_task *task);

#endif
