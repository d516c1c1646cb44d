/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_SEARCH_POLICY_DRAW_H
#define KL_SEARCH_POLICY_DRAW_H

#include <stddef.h>
#include <stdint.h>

#include "base/rng.h"
#include "text/digest.h"

/*
 * draw - makes the random numbers of a search.
 *
 * The numbers of a draw depend only on the key of the cell, the ticket and a label, not on earlier
 * draws. So they need not be stored: a search that was killed, or whose tickets were made in
 * another order, draws the same numbers again.
 *
 *	kl_draw_key(key, "", "attention", "shinka", 3);
 *	draws = (struct kl_draws){ .key = key, .ticket = 17 };
 *	kl_draw_open(&rng, &draws, "parent");
 *	parent = kl_draw_weighted(&rng, weight, n);
 */
struct kl_draws {
	const char *key; /* key of the cell, 64 hex digits; borrowed */
	int64_t ticket;
};

/**
 * Write to `key` the key of the cell in which `policy` works on `task` with `seed`. Different salts
 * give different keys, so each study can have its own random numbers.
 */
void kl_draw_key(char key[KL_DIGEST_HEX], const char *salt, const char *task, const char *policy,
		 int64_t seed);
/** Begin the stream of random numbers of a label. */
void kl_draw_open(struct kl_rng *rng, const struct kl_draws *draws, const char *label);
/** Return the first uniform number in [0, 1) of a label's stream. */
double kl_draw_coin(const struct kl_draws *draws, const char *label);
/** Return the first integer in [0, n) of a label's stream; `n` must be at least 1. */
size_t kl_draw_below(const struct kl_draws *draws, const char *label, size_t n);
/**
 * Draw an index with a probability proportional to its weight. Weights must not be negative; if all
 * are 0, all indices are equally likely. `n` must be at least 1. The index is the first whose
 * cumulative weight is above u times the sum, for one uniform number u of the stream.
 */
size_t kl_draw_weighted(struct kl_rng *rng, const double *weight, size_t n);
/**
 * Draw `count` of the `n` elements of `value` without replacement, and move them to its beginning,
 * in the order in which they were drawn. `count` must be at most `n`.
 */
void kl_draw_sample(struct kl_rng *rng, int64_t *value, size_t n, size_t count);

#endif
