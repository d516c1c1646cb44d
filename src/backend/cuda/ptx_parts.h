/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_CUDA_PTX_PARTS_H
#define KL_BACKEND_CUDA_PTX_PARTS_H

#include <string.h>

#include "backend/cuda/ptx.h"
#include "base/map.h"

/*
 * ptx_parts - the readers that make up ptx.c's parser: the assembler's tokens (ptx_token.c), the
 * body of a function (ptx_body.c), and around both the module (ptx.c). Each reader begins at the
 * present token and leaves the one behind what it read. KL_ENO: it is not what a compiler makes.
 */
enum kl_ptx_kind { KL_PTX_END, KL_PTX_NAME, KL_PTX_NUMBER, KL_PTX_STRING, KL_PTX_PUNCT };

struct kl_ptx_token {
	enum kl_ptx_kind kind;
	const char *s; /* into the text */
	size_t n;
};

struct kl_ptx_reader {
	const char *at, *end;
	size_t line;
	struct kl_ptx_token t; /* the present one */
	struct kl_ptx *ptx;
	struct kl_map place; /* name -> index + 1; variables behind KL_PTX_MAX_ITEMS */
};

/** KL_ENO, with `what` and the line. */
int kl_ptx_bad(const struct kl_ptx_reader *reader, const char *what);
/** The next token. */
int kl_ptx_next(struct kl_ptx_reader *reader);

/** Is the present token this one? */
static inline bool kl_ptx_is(const struct kl_ptx_reader *reader, const char *text)
{
	return reader->t.n == strlen(text) && !strncmp(reader->t.s, text, reader->t.n);
}

/** At "{": all that stands in the function, into `fn`. */
int kl_ptx_read_body(struct kl_ptx_reader *reader, struct kl_ptx_fn *fn);
/** At ".loc": it ends where nothing belongs to it any more. */
int kl_ptx_read_loc(struct kl_ptx_reader *reader);

#endif
