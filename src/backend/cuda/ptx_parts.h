/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_CUDA_PTX_PARTS_H
#define KL_BACKEND_CUDA_PTX_PARTS_H

#include <string.h>

#include "backend/cuda/ptx.h"
#include "base/map.h"

/*
 * ptx_parts - the interface between the parts of the PTX parser: tokens (ptx_token.c), the body of
 * a function (ptx_body.c), and the module (ptx.c). Each function that reads starts at the current
 * token. On return, the current token is the first one that the function did not read. These
 * functions return KL_ENO for PTX that no compiler writes.
 */
enum kl_ptx_kind { KL_PTX_END, KL_PTX_NAME, KL_PTX_NUMBER, KL_PTX_STRING, KL_PTX_PUNCT };

struct kl_ptx_token {
	enum kl_ptx_kind kind;
	const char *s; /* points into the text */
	size_t n;
};

struct kl_ptx_reader {
	const char *at, *end;
	size_t line;
	struct kl_ptx_token t; /* the current token */
	struct kl_ptx *ptx;
	/* functions: name -> index + 1; variables: name -> KL_PTX_MAX_ITEMS + index + 1 */
	struct kl_map place;
};

/** Set an error about `what` at the current line. Return KL_ENO. */
int kl_ptx_bad(const struct kl_ptx_reader *reader, const char *what);
/** Read the next token into `t`. */
int kl_ptx_next(struct kl_ptx_reader *reader);

/** Return true if the current token is `text`. */
static inline bool kl_ptx_is(const struct kl_ptx_reader *reader, const char *text)
{
	return reader->t.n == strlen(text) && !strncmp(reader->t.s, text, reader->t.n);
}

/** At "{": read the body of a function into `fn`. */
int kl_ptx_read_body(struct kl_ptx_reader *reader, struct kl_ptx_fn *fn);
/** At ".loc": skip the directive. */
int kl_ptx_read_loc(struct kl_ptx_reader *reader);

#endif
