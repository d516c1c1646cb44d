/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/fs.h"
#include "gate/build_task.h"

static void built_free(void *data)
{
	kl_built_free(data);
}

static void oracle_free(void *data)
{
	struct kl_built_oracle *oracle = data;

	kl_launch_free(oracle->launch);
	free(oracle->truth);
	free(oracle->honest);
	free(oracle->pool);
	free(oracle);
}

static void baseline_free(void *data)
{
	kl_artefact_free(data);
}

/* -- backends -------------------------------------------------------------------------------- */

/* Find the session's state of a backend; open the backend on first use. */
static int open_backend(const struct kl_builder_state **out, struct kl_builder *builder,
			const struct kl_backend *backend)
{
	struct kl_builder_state *entry = builder->state;
	int err;

	while (entry->backend && entry->backend != backend)
		entry++;
	if (!entry->backend) {
		if ((err = backend->open(&entry->state, &builder->session)) < 0)
			return err;
		entry->backend = backend;
	}
	*out = entry;
	return 0;
}

/*
 * Check that a requested platform belongs to the backend, unless the backend's kernels name their
 * own platform.
 */
static int check_platform(const struct kl_builder *builder, const struct kl_backend *backend)
{
	const char *platform = builder->session.platform;

	if (!platform || backend->own_platform || backend->owns(platform))
		return 0;
	return kl_error(KL_ECANNOT, "platform '%s' was requested, but this kernel is in %s",
			platform, backend->language->title);
}

/* Find and open the backend of a surface. */
static int get_backend(const struct kl_builder_state **out, struct kl_builder *builder,
		       const struct kl_surface *surface)
{
	const struct kl_backend *backend = NULL;
	int err = kl_builder_backend(&backend, builder, surface);

	if (!err)
		err = check_platform(builder, backend);
	return err ? err : open_backend(out, builder, backend);
}

int kl_builder_open(struct kl_builder *builder)
{
	const struct kl_backend *backend = NULL;
	const struct kl_builder_state *state;
	int err;

	builder->built.free_value = built_free;
	builder->oracle.free_value = oracle_free;
	builder->baseline.free_value = baseline_free;
	if (!builder->backends)
		builder->backends = &kl_backends;
	if (!builder->session.platform)
		return 0;
	err = kl_backend_owner(&backend, builder->backends, builder->session.platform);
	return err ? err : open_backend(&state, builder, backend);
}

void kl_builder_release(struct kl_builder *builder)
{
	kl_map_release(&builder->built);
	kl_map_release(&builder->oracle);
	kl_map_release(&builder->baseline);
	for (struct kl_builder_state *at = builder->state; at->backend; at++)
		at->backend->close(at->state);
}

int kl_builder_backend(const struct kl_backend **out, const struct kl_builder *builder,
		       const struct kl_surface *surface)
{
	return kl_backend_find(out, builder->backends, surface->contract);
}

int kl_builder_platform(struct kl_platform *out, struct kl_builder *builder,
			const struct kl_surface *surface)
{
	const struct kl_builder_state *opened = NULL;
	int err = get_backend(&opened, builder, surface);

	return err ? err : opened->backend->platform(out, opened->state, surface);
}

int kl_builder_machine(struct kl_platform *out, struct kl_builder *builder, const char *platform)
{
	const struct kl_backend *backend = NULL;
	const struct kl_builder_state *opened = NULL;
	int err = kl_backend_owner(&backend, builder->backends, platform);

	if (err < 0)
		return err;
	if (backend->own_platform) {
		*out = (struct kl_platform){ .id = "" };
		snprintf(out->id, sizeof(out->id), "%s", platform);
		return 0;
	}
	if ((err = check_platform(builder, backend)) < 0 ||
	    (err = open_backend(&opened, builder, backend)) < 0)
		return err;
	return backend->platform(out, opened->state, NULL);
}

/* -- compiling in parallel ------------------------------------------------------------------- */

#define NONE SIZE_MAX

/*
 * Tasks to compile. `candidate`, `parent`, `oracle` and `baseline` are indices into `tasks`, or
 * NONE if already compiled or not needed. An oracle has two tasks; `oracle` is the first.
 */
struct missing {
	struct kl_build_tasks tasks;
	size_t candidate, parent, oracle, baseline;
	struct kl_built_oracle *made; /* NULL if the oracle was compiled before */
};

static void missing_release(struct missing *missing)
{
	kl_build_tasks_release(&missing->tasks);
	if (missing->made)
		oracle_free(missing->made);
}

/*
 * Return the key of an artefact; the caller frees it. The key includes the contract, which sets the
 * entry and the compiler flags.
 */
static char *surface_key(const struct kl_surface *surface)
{
	return kl_asprintf("%s-%s", surface->digest, surface->contract_digest);
}

static char *baseline_key(const struct kl_surface *surface, const char *march)
{
	return kl_asprintf("%s-%s", surface->contract_digest, march);
}

/* A surface, and the open backend that was prepared for it. */
struct prepared {
	const struct kl_surface *surface;
	const struct kl_builder_state *by;
};

static size_t add_task(struct missing *missing, enum kl_build_kind kind, const struct prepared *of,
		       char *dir)
{
	const struct kl_build_task task = {
		.kind = kind,
		.backend = of->by->backend,
		.state = of->by->state,
		.surface = of->surface,
		.dir = dir,
	};

	return kl_build_tasks_add(&missing->tasks, &task);
}

static size_t add_surface(struct missing *missing, struct kl_builder *builder,
			  const struct prepared *of)
{
	const struct kl_surface *surface = of->surface;
	KL_AUTO(kl_freep) char *key = surface_key(surface);

	if (kl_map_get(&builder->built, key))
		return NONE;
	return add_task(missing, KL_BUILD_SURFACE, of,
			kl_asprintf("%s/%.16s-%.16s", builder->session.dir, surface->digest,
				    surface->contract_digest));
}

static int add_oracle(struct missing *missing, struct kl_builder *builder,
		      const struct prepared *of)
{
	const struct kl_surface *surface = of->surface;
	KL_AUTO(kl_freep) char *name = kl_asprintf("oracle-%.16s", surface->contract_digest);
	KL_AUTO(kl_freep) char *dir = kl_fs_join(builder->session.dir, name);
	size_t honest;
	int err;

	if (kl_map_get(&builder->oracle, surface->contract_digest))
		return 0;
	missing->made = kl_calloc(1, sizeof(*missing->made));
	if (surface->contract->oracle_launch &&
	    (err = kl_launch_read(&missing->made->launch, surface, true,
				  builder->session.platform)) < 0)
		return err;
	missing->made->pool = kl_fs_join(dir, "pool");
	missing->oracle = add_task(missing, KL_BUILD_TRUTH, of, kl_fs_join(dir, "truth"));
	honest = add_task(missing, KL_BUILD_HONEST, of, kl_fs_join(dir, "honest"));
	missing->tasks.item[missing->oracle].launch = missing->tasks.item[honest].launch =
		missing->made->launch;
	missing->made->truth = kl_build_task_oracle_path(&missing->tasks.item[missing->oracle]);
	missing->made->honest = kl_build_task_oracle_path(&missing->tasks.item[honest]);
	return 0;
}

static void add_baseline(struct missing *missing, struct kl_builder *builder,
			 const struct prepared *of, const char *march)
{
	const struct kl_surface *surface = of->surface;
	KL_AUTO(kl_freep) char *key = NULL;

	if (!march || !surface->contract->baseline || !of->by->backend->baseline)
		return;
	key = baseline_key(surface, march);
	if (kl_map_get(&builder->baseline, key))
		return;
	missing->baseline = add_task(missing, KL_BUILD_BASELINE, of,
				     kl_asprintf("%s/base-%.16s-%s", builder->session.dir,
						 surface->contract_digest, march));
	missing->tasks.item[missing->baseline].march = march;
}

/*
 * Report that an oracle does not compile (KL_ECANNOT): this is an error of the contract, not a
 * verdict on the candidate. KL_EINTR and KL_EIO are returned unchanged.
 */
static int blame_oracle(int err, const struct kl_surface *surface)
{
	if (err == KL_EINTR || err == KL_EIO)
		return err;
	return kl_error(KL_ECANNOT, "oracle of '%s': %s", surface->contract->workload,
			kl_error_last());
}

static int store_oracle(struct missing *missing, struct kl_builder *builder,
			const struct kl_surface *surface)
{
	int err = 0;

	if (missing->oracle == NONE)
		return 0;
	for (size_t i = missing->oracle; !err && i < missing->oracle + 2; i++)
		err = kl_task_result(&missing->tasks.task[i]);
	if (err < 0)
		return blame_oracle(err, surface);
	kl_map_put(&builder->oracle, surface->contract_digest, kl_steal(&missing->made));
	return 0;
}

static int store_surface(struct missing *missing, struct kl_builder *builder,
			 const struct kl_surface *surface, size_t index)
{
	KL_AUTO(kl_freep) char *key = surface_key(surface);
	int err = index == NONE ? 0 : kl_task_result(&missing->tasks.task[index]);

	if (!err && index != NONE)
		kl_map_put(&builder->built, key, kl_steal(&missing->tasks.item[index].built));
	return err;
}

/*
 * Store the compiled baseline. If there is none (KL_ENOTFOUND), or if it could not be compiled (an
 * error that is reported), the judgement continues without a baseline.
 */
static void store_baseline(struct missing *missing, struct kl_builder *builder,
			   const struct kl_surface *surface, const char *march)
{
	KL_AUTO(kl_freep) char *key = baseline_key(surface, march);
	int err;

	if (missing->baseline == NONE)
		return;
	err = kl_task_result(&missing->tasks.task[missing->baseline]);
	if (!err)
		kl_map_put(&builder->baseline, key,
			   kl_steal(&missing->tasks.item[missing->baseline].baseline));
	else if (err != KL_ENOTFOUND)
		kl_progress_print(builder->progress, "%s", kl_error_last());
	kl_error_clear();
}

/*
 * Open and prepare the backend of a surface before compiling, so that a missing tool is an error,
 * not a failure of the candidate.
 */
static int prepare_surface(struct prepared *out, struct kl_builder *builder,
			   const struct kl_surface *surface)
{
	int err = get_backend(&out->by, builder, surface);

	out->surface = surface;
	return err ? err : out->by->backend->prepare(out->by->state, surface);
}

int kl_builder_surface(const struct kl_built **out, struct kl_builder *builder,
		       const struct kl_surface *surface)
{
	KL_AUTO(missing_release) struct missing missing = { .made = NULL };
	KL_AUTO(kl_freep) char *key = surface_key(surface);
	struct prepared prepared = { .surface = NULL };
	size_t index;
	int err = prepare_surface(&prepared, builder, surface);

	if (err < 0)
		return err;
	index = add_surface(&missing, builder, &prepared);
	missing.tasks.repo = builder->session.repo;
	kl_progress_step(builder->progress, "compile");
	kl_build_tasks_compile(&missing.tasks);
	err = store_surface(&missing, builder, surface, index);
	*out = kl_map_get(&builder->built, key);
	return err;
}

static int add_all(struct missing *missing, struct kl_builder *builder,
		   const struct kl_builder_needs *needs)
{
	bool parent_differs = needs->parent &&
			      (strcmp(needs->parent->digest, needs->candidate->digest) ||
			       strcmp(needs->parent->contract_digest,
				      needs->candidate->contract_digest));
	struct prepared candidate = { .surface = NULL }, parent = { .surface = NULL };
	int err = prepare_surface(&candidate, builder, needs->candidate);

	if (!err && needs->parent)
		err = prepare_surface(&parent, builder, needs->parent);
	if (err < 0)
		return err;
	/* tasks start in the order in which they are added, so add the slowest first */
	missing->candidate = add_surface(missing, builder, &candidate);
	missing->parent = parent_differs ? add_surface(missing, builder, &parent) : NONE;
	missing->oracle = missing->baseline = NONE;
	add_baseline(missing, builder, &candidate, needs->march);
	err = add_oracle(missing, builder, &candidate);
	return err < 0 ? blame_oracle(err, needs->candidate) : 0;
}

int kl_builder_all(struct kl_builder_set *out, struct kl_builder *builder,
		   const struct kl_builder_needs *needs)
{
	KL_AUTO(missing_release) struct missing missing = { .made = NULL };
	KL_AUTO(kl_freep) char *candidate = surface_key(needs->candidate);
	KL_AUTO(kl_freep) char *parent = needs->parent ? surface_key(needs->parent) : NULL;
	KL_AUTO(kl_freep) char *baseline = needs->march ?
						   baseline_key(needs->candidate, needs->march) :
						   NULL;
	int err, parent_err;

	*out = (struct kl_builder_set){ .candidate = NULL };
	missing.tasks.repo = builder->session.repo;
	if ((err = add_all(&missing, builder, needs)) < 0)
		return err;
	if (missing.tasks.n)
		kl_progress_step(builder->progress, "compile");
	kl_build_tasks_compile(&missing.tasks);
	if (baseline)
		store_baseline(&missing, builder, needs->candidate, needs->march);
	parent_err = parent ? store_surface(&missing, builder, needs->parent, missing.parent) : 0;
	if ((err = store_oracle(&missing, builder, needs->candidate)) < 0 ||
	    (err = store_surface(&missing, builder, needs->candidate, missing.candidate)) < 0)
		return err;
	out->oracle = kl_map_get(&builder->oracle, needs->candidate->contract_digest);
	out->candidate = kl_map_get(&builder->built, candidate);
	/* the candidate was refused, so parent and baseline are not needed */
	if (!out->candidate->artefact)
		return 0;
	out->parent = parent ? kl_map_get(&builder->built, parent) : NULL;
	out->baseline = baseline ? kl_map_get(&builder->baseline, baseline) : NULL;
	return parent_err < 0 ? kl_task_result(&missing.tasks.task[missing.parent]) : 0;
}
