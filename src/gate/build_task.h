/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_GATE_BUILD_TASK_H
#define KL_GATE_BUILD_TASK_H

#include "base/tasks.h"
#include "gate/build.h"

/*
 * build_task - compiles in parallel what a judgement needs: a surface, an oracle in one
 * arithmetic, a baseline that is a kernel of ours. Pieces are compiled at once, each by a thread
 * that only reads the state of its backend, in a directory that no other jail is given.
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
	const void *state; /* its own, prepared for the surface */
	const struct kl_surface *surface;
	char *dir;                      /* its own */
	const struct kl_launch *launch; /* plan of an oracle; borrowed; NULL: it has none */
	const char *march;              /* of a baseline; borrowed */
	struct kl_built *built;         /* what comes out: of a surface */
	struct kl_artefact *baseline;
};

#define KL_PIECES_MAX 5 /* candidate, parent, an oracle twice, a baseline */

struct kl_pieces {
	struct kl_task task[KL_PIECES_MAX];
	struct kl_piece piece[KL_PIECES_MAX];
	size_t n;
	struct kl_repo *repo; /* whose cache has oracles; NULL: none; borrowed */
};

/** Its place; takes its `dir` over. What else the piece needs is set before kl_pieces_compile(). */
size_t kl_pieces_add(struct kl_pieces *pieces, const struct kl_piece *piece);
/**
 * Oracles as far as an earlier session left them. A refused surface is built->artefact NULL, no
 * error.
 */
void kl_pieces_compile(struct kl_pieces *pieces);
void kl_pieces_release(struct kl_pieces *pieces);

void kl_built_free(struct kl_built *built);

/** Where the object of an oracle lies, like "<dir>/truth.so"; the caller's. */
char *kl_piece_oracle_path(const struct kl_piece *piece);

#endif
