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

static bool is_oracle(const struct kl_piece *piece)
{
	return piece->kind == KL_PIECE_TRUTH || piece->kind == KL_PIECE_HONEST;
}

static enum kl_oracle piece_arithmetic(const struct kl_piece *piece)
{
	return piece->kind == KL_PIECE_TRUTH ? KL_ORACLE_TRUTH : KL_ORACLE_HONEST;
}

char *kl_piece_oracle_path(const struct kl_piece *piece)
{
	return kl_asprintf("%s/%s.%s", piece->dir, kl_oracle_name(piece_arithmetic(piece)),
			   piece->backend->object);
}

/* -- the cache of oracles -------------------------------------------------------------------- */

/* Digest of everything that the object depends on; false: the backend cannot compute it. */
static bool oracle_key(char hex[KL_DIGEST_HEX], const struct kl_piece *piece)
{
	struct kl_digest *digest = kl_objects_key(kl_oracle_name(piece_arithmetic(piece)));
	KL_AUTO(kl_buf_release) struct kl_buf plan = KL_BUF_INIT;
	int err;

	kl_digest_adds(digest, piece->surface->contract_digest);
	if (piece->launch) {
		kl_json_canonical(&plan, piece->launch->json);
		kl_digest_adds(digest, piece->launch->arch);
		kl_digest_add(digest, plan.ptr, plan.len);
	}
	err = piece->backend->recipe(digest, piece->state);
	kl_digest_end(digest, hex);
	return !err;
}

static bool oracle_is_kept(const struct kl_piece *piece, struct kl_repo *repo)
{
	KL_AUTO(kl_freep) char *path = kl_piece_oracle_path(piece);
	char hex[KL_DIGEST_HEX];

	return repo && kl_oracle_filled(piece->surface) == 0 && oracle_key(hex, piece) &&
	       kl_objects_get(repo, hex, path) == 0;
}

static void keep_oracle(const struct kl_piece *piece, struct kl_repo *repo)
{
	KL_AUTO(kl_freep) char *path = kl_piece_oracle_path(piece);
	char hex[KL_DIGEST_HEX];

	if (repo && oracle_key(hex, piece))
		kl_objects_put(repo, hex, path);
}

/* -- compiling ------------------------------------------------------------------------------- */

static int compile_surface(struct kl_piece *piece)
{
	struct kl_built *built = kl_calloc(1, sizeof(*built));
	int err;

	piece->built = built;
	err = piece->backend->compile(&built->artefact, &built->class_, piece->state,
				      piece->surface, piece->dir);
	if (err == KL_ENO) {
		built->message = kl_strdup(kl_error_last());
		return 0;
	}
	return err;
}

static int compile_piece(void *ctx)
{
	struct kl_piece *piece = ctx;
	int err = kl_fs_mkdir(piece->dir);

	if (err < 0)
		return err;
	if (piece->kind == KL_PIECE_SURFACE)
		return compile_surface(piece);
	if (piece->kind == KL_PIECE_BASELINE)
		return piece->backend->baseline(&piece->baseline, piece->state, piece->surface,
						piece->march, piece->dir);
	return piece->backend->oracle(piece->state, piece->surface, piece->launch,
				      piece_arithmetic(piece), piece->dir);
}

/* -- all pieces ------------------------------------------------------------------------------ */

static int take_from_cache(void *ctx)
{
	return 0;
}

size_t kl_pieces_add(struct kl_pieces *pieces, const struct kl_piece *piece)
{
	pieces->piece[pieces->n] = *piece;
	pieces->task[pieces->n] = (struct kl_task){ .run = compile_piece,
						    .ctx = &pieces->piece[pieces->n] };
	return pieces->n++;
}

/* Only this thread reads and writes the repository's cache; the tasks do not. */
void kl_pieces_compile(struct kl_pieces *pieces)
{
	for (size_t i = 0; i < pieces->n; i++)
		if (is_oracle(&pieces->piece[i]) && oracle_is_kept(&pieces->piece[i], pieces->repo))
			pieces->task[i].run = take_from_cache;
	kl_error_clear();
	kl_tasks_run(pieces->task, pieces->n);
	for (size_t i = 0; i < pieces->n; i++)
		if (is_oracle(&pieces->piece[i]) && pieces->task[i].run == compile_piece &&
		    !pieces->task[i].err)
			keep_oracle(&pieces->piece[i], pieces->repo);
	kl_error_clear();
}

void kl_pieces_release(struct kl_pieces *pieces)
{
	kl_tasks_release(pieces->task, pieces->n);
	for (size_t i = 0; i < pieces->n; i++) {
		free(pieces->piece[i].dir);
		kl_built_free(pieces->piece[i].built);
		kl_artefact_free(pieces->piece[i].baseline);
	}
	pieces->n = 0;
}
