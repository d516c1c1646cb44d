/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/build_task.h"

#include <stdlib.h>

#include "backend/object_cache.h"
#include "base/error.h"
#include "base/fs.h"

void kl_built_free(struct kl_built *b)
{
	if (!b)
		return;
	kl_artefact_free(b->artefact);
	free(b->message);
	free(b);
}

static bool is_oracle(const struct kl_piece *p)
{
	return p->kind == KL_PIECE_TRUTH || p->kind == KL_PIECE_HONEST;
}

static enum kl_oracle piece_arithmetic(const struct kl_piece *p)
{
	return p->kind == KL_PIECE_TRUTH ? KL_ORACLE_TRUTH : KL_ORACLE_HONEST;
}

char *kl_piece_oracle_path(const struct kl_piece *p)
{
	return kl_asprintf("%s/%s.%s", p->dir, kl_oracle_name(piece_arithmetic(p)),
			   p->backend->object);
}

/*
 * -- what an earlier session left ---------------------------------------------------------------
 */

/* All that its object depends on; false: that cannot be said. */
static bool oracle_key(char hex[KL_DIGEST_HEX], const struct kl_piece *p)
{
	struct kl_digest *d = kl_objects_key(kl_oracle_name(piece_arithmetic(p)));
	KL_AUTO(kl_buf_release) struct kl_buf plan = KL_BUF_INIT;
	int err;

	kl_digest_adds(d, p->surface->contract_digest);
	if (p->launch) {
		kl_json_canonical(&plan, p->launch->json);
		kl_digest_adds(d, p->launch->arch);
		kl_digest_add(d, plan.ptr, plan.len);
	}
	err = p->backend->recipe(d, p->state);
	kl_digest_end(d, hex);
	return !err;
}

static bool oracle_is_kept(const struct kl_piece *p, struct kl_repo *repo)
{
	KL_AUTO(kl_freep) char *path = kl_piece_oracle_path(p);
	char hex[KL_DIGEST_HEX];

	return repo && kl_oracle_filled(p->surface) == 0 && oracle_key(hex, p) &&
	       kl_objects_get(repo, hex, path) == 0;
}

static void keep_oracle(const struct kl_piece *p, struct kl_repo *repo)
{
	KL_AUTO(kl_freep) char *path = kl_piece_oracle_path(p);
	char hex[KL_DIGEST_HEX];

	if (repo && oracle_key(hex, p))
		kl_objects_put(repo, hex, path);
}

/*
 * -- compiling -----------------------------------------------------------------------------------
 */

static int compile_surface(struct kl_piece *p)
{
	struct kl_built *built = kl_calloc(1, sizeof(*built));
	int err;

	p->built = built;
	err = p->backend->compile(&built->artefact, &built->class_, p->state, p->surface, p->dir);
	if (err == KL_ENO) {
		built->message = kl_strdup(kl_error_last());
		return 0;
	}
	return err;
}

static int compile_piece(void *ctx)
{
	struct kl_piece *p = ctx;
	int err = kl_fs_mkdir(p->dir);

	if (err < 0)
		return err;
	if (p->kind == KL_PIECE_SURFACE)
		return compile_surface(p);
	if (p->kind == KL_PIECE_BASELINE)
		return p->backend->baseline(&p->baseline, p->state, p->surface, p->march, p->dir);
	return p->backend->oracle(p->state, p->surface, p->launch, piece_arithmetic(p), p->dir);
}

/*
 * -- all of them -----------------------------------------------------------------------------------
 */

static int find_piece(void *ctx)
{
	return 0;
}

size_t kl_pieces_add(struct kl_pieces *p, const struct kl_piece *piece)
{
	p->piece[p->n] = *piece;
	p->task[p->n] = (struct kl_task){ .run = compile_piece, .ctx = &p->piece[p->n] };
	return p->n++;
}

/* Files of this clone are read and written by this thread alone. */
void kl_pieces_compile(struct kl_pieces *p)
{
	for (size_t i = 0; i < p->n; i++)
		if (is_oracle(&p->piece[i]) && oracle_is_kept(&p->piece[i], p->repo))
			p->task[i].run = find_piece;
	kl_error_clear();
	kl_tasks_run(p->task, p->n);
	for (size_t i = 0; i < p->n; i++)
		if (is_oracle(&p->piece[i]) && p->task[i].run == compile_piece && !p->task[i].err)
			keep_oracle(&p->piece[i], p->repo);
	kl_error_clear();
}

void kl_pieces_release(struct kl_pieces *p)
{
	kl_tasks_release(p->task, p->n);
	for (size_t i = 0; i < p->n; i++) {
		free(p->piece[i].dir);
		kl_built_free(p->piece[i].built);
		kl_artefact_free(p->piece[i].baseline);
	}
	p->n = 0;
}
