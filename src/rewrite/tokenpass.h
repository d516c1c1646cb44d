/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REWRITE_TOKENPASS_H
#define KL_REWRITE_TOKENPASS_H

#include "rewrite/ctoken.h"

/*
 * tokenpass - simplifies C source by its tokens, where Coccinelle cannot. That is what it cannot
 * parse (pragmas, restrict, attributes) and what needs arithmetic. Each finds its sites; passes.c
 * decides which of them make one proposal.
 */
struct kl_tokenpass {
	const char *name; /* as in templates/passes/passes.yaml */
	void (*find)(struct kl_cedits *out, const struct kl_ctokens *c);
};

/** NULL: no such pass. */
const struct kl_tokenpass *kl_tokenpass_find(const char *name);

/**
 * Constants that look like the size of a tile: object-like #define, enum
 * member or `const` integer of 2 ... 2^20, used
 * inside a function, named in upper case.
 */
struct kl_tile {
	char *name;
	long value;
	int line;
};
struct kl_tiles {
	struct kl_tile *t;
	size_t n, alloc;
};
void kl_tokenpass_tiles(struct kl_tiles *out, const struct kl_ctokens *tokens);
void kl_tiles_release(struct kl_tiles *tiles);

#endif
