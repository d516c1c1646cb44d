/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REWRITE_TOKENPASS_H
#define KL_REWRITE_TOKENPASS_H

#include "rewrite/source/ctoken.h"

/*
 * tokenpass - simplifies C source by its tokens, where Coccinelle cannot.
 *
 * Coccinelle cannot parse pragmas, `restrict` and attributes, and cannot calculate with constants.
 * Each pass finds the places to change; passes.c decides which of these changes form a proposal.
 */
struct kl_tokenpass {
	const char *name; /* its name in templates/passes/passes.yaml */
	void (*find)(struct kl_cedits *out, const struct kl_ctokens *c);
};

/** Find a pass by its name, or NULL. */
const struct kl_tokenpass *kl_tokenpass_find(const char *name);

/**
 * A constant that looks like the size of a tile: an object-like #define, an enumerator or a `const`
 * integer from 2 to 2^20, with a name in upper case, that a function uses as a size: in the head of a
 * loop, as the dimension of an array, or as a factor.
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
/** Find the constants that look like tile sizes; the caller releases `out`. */
void kl_tokenpass_tiles(struct kl_tiles *out, const struct kl_ctokens *tokens);
void kl_tiles_release(struct kl_tiles *tiles);

#endif
