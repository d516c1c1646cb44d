/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/build_task.h"

#include <stdlib.h>
#include <string.h>

#include "backend/cuda/compile.h"
#include "backend/cuda/host_compile.h"
#include "backend/object_cache.h"
#include "backend/tool.h"
#include "base/error.h"
#include "base/fs.h"
#include "gate/gate.h"

#define MAX_OBJECT ((size_t)64 << 20)

void kl_built_free(struct kl_built *b)
{
	if (!b)
		return;
	kl_artefact_free(b->artefact);
	kl_launch_free(b->launch);
	free(b->message);
	free(b);
}

static bool is_oracle(const struct kl_piece *p)
{
	return p->kind == KL_PIECE_TRUTH || p->kind == KL_PIECE_HONEST;
}

static enum kl_oracle arithmetic(const struct kl_piece *p)
{
	return p->kind == KL_PIECE_TRUTH ? KL_ORACLE_TRUTH : KL_ORACLE_HONEST;
}

char *kl_piece_oracle_path(const struct kl_piece *p)
{
	return kl_asprintf("%s/%s.%s", p->dir, kl_oracle_name(arithmetic(p)),
			   kl_contract_is_cuda(p->surface->contract) ? "cubin" : "so");
}

/* -- what an earlier session left --------------------------------------------------------------- */

/* All that its object depends on; false: that cannot be said. */
static bool oracle_key(char hex[KL_DIGEST_HEX], const struct kl_piece *p)
{
	struct kl_digest *d = kl_objects_key(kl_oracle_name(arithmetic(p)));
	KL_AUTO(kl_buf_release) struct kl_buf plan = KL_BUF_INIT;
	int err;

	kl_digest_adds(d, p->surface->contract_digest);
	if (p->launch) {
		kl_json_canonical(&plan, p->launch->json);
		kl_digest_adds(d, p->launch->arch);
		kl_digest_add(d, plan.ptr, plan.len);
		kl_compile_cuda_recipe(d, &p->b->nvcc);
		err = kl_tool_digest_runtime(d, "kl_oracle.cuh");
	} else {
		kl_compile_recipe(d, &p->b->cpu);
		err = kl_tool_digest_runtime(d, "kl_oracle.h");
		err = err ? err : kl_tool_digest_runtime(d, "runtime.c");
	}
	kl_digest_end(d, hex);
	return !err;
}

static bool oracle_is_kept(const struct kl_piece *p)
{
	KL_AUTO(kl_freep) char *path = kl_piece_oracle_path(p);
	char hex[KL_DIGEST_HEX];

	return p->b->repo && kl_oracle_filled(p->surface) == 0 && oracle_key(hex, p) &&
	       kl_objects_get(p->b->repo, hex, path) == 0;
}

static void keep_oracle(const struct kl_piece *p)
{
	KL_AUTO(kl_freep) char *path = kl_piece_oracle_path(p);
	char hex[KL_DIGEST_HEX];

	if (p->b->repo && oracle_key(hex, p))
		kl_objects_put(p->b->repo, hex, path);
}

/* -- the runtime ---------------------------------------------------------------------------------- */

int kl_piece_runtime(struct kl_builder *b)
{
	KL_AUTO(kl_freep) char *rel = kl_compile_runtime_path(&b->cpu);
	KL_AUTO(kl_freep) char *dir = kl_fs_join(b->dir, "runtime");
	KL_AUTO(kl_freep) char *path = kl_fs_join(dir, rel);
	struct kl_digest *d;
	char hex[KL_DIGEST_HEX];
	int err;

	if (b->runtime)
		return 0;
	d = kl_objects_key("runtime");
	kl_compile_recipe(d, &b->cpu);
	err = kl_tool_digest_runtime(d, "runtime.c");
	kl_digest_end(d, hex);
	if (err < 0)
		return err;
	if (!b->repo || kl_objects_get(b->repo, hex, path) < 0) {
		if ((err = kl_fs_mkdir(dir)) < 0 || (err = kl_compile_runtime(b->jail, &b->cpu, dir)) < 0)
			return err;
		if (b->repo)
			kl_objects_put(b->repo, hex, path);
	}
	b->runtime = kl_steal(&path);
	return 0;
}

/* A jail's directory has a copy: what is linked elsewhere is out of its reach. */
static int copy_runtime(const struct kl_piece *p)
{
	KL_AUTO(kl_freep) char *rel = kl_compile_runtime_path(&p->b->cpu);
	KL_AUTO(kl_freep) char *to = kl_fs_join(p->dir, rel);
	KL_AUTO(kl_buf_release) struct kl_buf object = KL_BUF_INIT;
	int err = kl_fs_read(&object, p->b->runtime, MAX_OBJECT);

	if (!err)
		err = kl_fs_mkdir_of(to);
	return err ? err : kl_fs_put(to, object.ptr, object.len, 0644);
}

/* -- compiling ----------------------------------------------------------------------------------- */

static int surface_c(struct kl_piece *p)
{
	int err = copy_runtime(p);

	return err ? err : kl_compile_surface(&p->built->artefact, &p->built->class_, p->b->jail,
					      &p->b->cpu, p->surface, p->dir);
}

static int surface_cuda(struct kl_piece *p)
{
	const struct kl_nvcc *n = &p->b->nvcc;
	struct kl_built *to = p->built;
	int err;

	if (p->surface->contract->host)
		return kl_compile_host(&to->artefact, &to->class_, p->b->jail, n, &p->b->headers,
				       p->surface, p->dir);
	err = kl_launch_read(&to->launch, p->surface, false);
	if (err == KL_EINVALID) {	/* a plan is a source like any other */
		to->class_ = "launch";
		return kl_error(KL_ENO, "%s", kl_error_last());
	}
	return err ? err : kl_compile_cuda(&to->artefact, &to->class_, p->b->jail, n,
					   &p->b->headers, p->surface, to->launch, p->dir);
}

static int surface(struct kl_piece *p)
{
	int err;

	p->built = kl_calloc(1, sizeof(*p->built));
	err = kl_contract_is_cuda(p->surface->contract) ? surface_cuda(p) : surface_c(p);
	if (err == KL_ENO) {
		p->built->message = kl_strdup(kl_error_last());
		return 0;
	}
	return err;
}

static int oracle(struct kl_piece *p)
{
	int err;

	if (p->launch)
		return kl_compile_cuda_oracle(p->b->jail, &p->b->nvcc, p->surface, p->launch, arithmetic(p),
					      p->dir);
	err = copy_runtime(p);
	return err ? err : kl_compile_oracle(p->b->jail, &p->b->cpu, p->surface, arithmetic(p), p->dir);
}

static int compile(void *ctx)
{
	struct kl_piece *p = ctx;
	int err = kl_fs_mkdir(p->dir);

	if (err < 0)
		return err;
	if (p->kind == KL_PIECE_SURFACE)
		return surface(p);
	if (p->kind == KL_PIECE_BASELINE)
		return kl_baseline_cuda(&p->baseline, p->b->jail, &p->b->nvcc, p->surface, p->arch, p->dir);
	return oracle(p);
}

/* -- all of them ----------------------------------------------------------------------------------- */

static int there(void *ctx)
{
	return 0;
}

size_t kl_pieces_add(struct kl_pieces *p, enum kl_piece_kind kind, const struct kl_builder *b,
		     const struct kl_surface *s, char *dir)
{
	p->piece[p->n] = (struct kl_piece){ .kind = kind, .b = b, .surface = s, .dir = dir };
	p->task[p->n] = (struct kl_task){ .run = compile, .ctx = &p->piece[p->n] };
	return p->n++;
}

/* Files of this clone are read and written by this thread alone. */
void kl_pieces_compile(struct kl_pieces *p)
{
	for (size_t i = 0; i < p->n; i++)
		if (is_oracle(&p->piece[i]) && oracle_is_kept(&p->piece[i]))
			p->task[i].run = there;
	kl_error_clear();
	kl_tasks_run(p->task, p->n);
	for (size_t i = 0; i < p->n; i++)
		if (is_oracle(&p->piece[i]) && p->task[i].run == compile && !p->task[i].err)
			keep_oracle(&p->piece[i]);
	kl_error_clear();
}

void kl_pieces_release(struct kl_pieces *p)
{
	kl_tasks_release(p->task, p->n);
	for (size_t i = 0; i < p->n; i++) {
		free(p->piece[i].dir);
		kl_built_free(p->piece[i].built);
		kl_baseline_cuda_free(p->piece[i].baseline);
	}
	p->n = 0;
}
