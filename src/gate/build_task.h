/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_GATE_BUILD_TASK_H
#define KL_GATE_BUILD_TASK_H

#include "base/tasks.h"
#include "gate/build.h"

/*
 * build_task - compiles in parallel what a judgement needs: a surface, an oracle in one
 * arithmetic, a baseline that is a kernel of ours. Pieces are compiled at once, each by a thread
 * that only reads the builder, in a directory that no other jail is given; what comes out gets
 * into the builder's maps when all are done.
 *
 *	kl_pieces_add(&p, KL_PIECE_SURFACE, builder, surface, kl_asprintf("%s/x", dir));
 *	kl_pieces_compile(&p);
 *	err = kl_task_result(&p.task[0]);	p.piece[0].built
 *	kl_pieces_release(&p);
 */
enum kl_piece_kind { KL_PIECE_SURFACE, KL_PIECE_TRUTH, KL_PIECE_HONEST, KL_PIECE_BASELINE };

struct kl_piece {
	enum kl_piece_kind kind;
	const struct kl_builder *b;
	const struct kl_surface *surface;
	const struct kl_launch *launch;	/* of an oracle in cuda; borrowed */
	const char *arch;		/* of a baseline; borrowed */
	char *dir;			/* its own */
	struct kl_built *built;		/* what comes out: of a surface */
	struct kl_baseline_cuda *baseline;
};

#define KL_PIECES_MAX 5		/* candidate, parent, an oracle twice, a baseline */

struct kl_pieces {
	struct kl_task task[KL_PIECES_MAX];
	struct kl_piece piece[KL_PIECES_MAX];
	size_t n;
};

/** Its place; takes `dir` over. What else the piece needs is set before kl_pieces_compile(). */
size_t kl_pieces_add(struct kl_pieces *p, enum kl_piece_kind kind, const struct kl_builder *b,
		     const struct kl_surface *s, char *dir);
/** Oracles as far as an earlier session left them. A refused surface is built->artefact NULL, no error. */
void kl_pieces_compile(struct kl_pieces *p);
void kl_pieces_release(struct kl_pieces *p);

void kl_built_free(struct kl_built *b);

/** The runtime of kernels in C, in a directory of its own below the builder's: b->runtime. Once a session. */
int kl_piece_runtime(struct kl_builder *b);
/** Where the object of an oracle lies: "<dir>/truth.so"; the caller's. */
char *kl_piece_oracle_path(const struct kl_piece *p);

#endif
