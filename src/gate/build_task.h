/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_GATE_BUILD_TASK_H
#define KL_GATE_BUILD_TASK_H

#include "base/tasks.h"
#include "gate/build.h"

/*
 * build_task - compiles the pieces of a judgement in parallel. A piece is a surface, an oracle in
 * one arithmetic, or a baseline that we ship. Each is compiled by its own thread, which only reads
 * the state of its backend, in a directory that no other jail can access.
 *
 *	kl_pieces_add(&p, &(struct kl_piece){ KL_PIECE_SURFACE, backend, state, surface, dir });
 *	kl_pieces_compile(&p);
 *	err = kl_task_result(&p.task[0]);	p.piece[0].built
 *	kl_pieces_release(&p);
 */
enum kl_piece_kind { KL_PIECE_SURFACE, KL_PIECE_TRUTH, KL_PIECE_HONEST, KL_PIECE_BASELINE };

struct kl_piece {
	enum kl_piece_kind kind;
	const struct kl_backend *backend;
	const void *state; /* of the backend, prepared for the surface */
	const struct kl_surface *surface;
	char *dir;                      /* of this piece alone; owned */
	const struct kl_launch *launch; /* of an oracle: its plan, borrowed; NULL: none */
	const char *march;              /* of a baseline: its target, borrowed */
	struct kl_built *built;         /* result for a surface; owned */
	struct kl_artefact *baseline;   /* result for a baseline; owned */
};

#define KL_PIECES_MAX 5 /* candidate, parent, oracle in two arithmetics, baseline */

struct kl_pieces {
	struct kl_task task[KL_PIECES_MAX];
	struct kl_piece piece[KL_PIECES_MAX];
	size_t n;
	struct kl_repo *repo; /* its cache keeps oracles; borrowed; NULL: no cache */
};

/**
 * Add a piece, taking ownership of its `dir`, and return its index. The caller sets `launch` or
 * `march` before kl_pieces_compile().
 */
size_t kl_pieces_add(struct kl_pieces *pieces, const struct kl_piece *piece);
/**
 * Compile all pieces; oracles in the repository's cache are copied from there. The result of each
 * is kl_task_result(). A refused surface is not an error: its built->artefact is NULL.
 */
void kl_pieces_compile(struct kl_pieces *pieces);
void kl_pieces_release(struct kl_pieces *pieces);

void kl_built_free(struct kl_built *built);

/** Path of an oracle's object, such as "<dir>/truth.so"; the caller frees it. */
char *kl_piece_oracle_path(const struct kl_piece *piece);

#endif
