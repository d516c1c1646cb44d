/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_MODEL_PROVIDER_DIALECT_H
#define KL_MODEL_PROVIDER_DIALECT_H

#include "base/vec.h"
#include "model/provider/message.h"
#include "text/json.h"
#include "text/schema.h"

/*
 * dialect - how providers report the tokens of a reply: the members of a usage object, as data
 * (templates/providers.yaml). A stream can report several times; counts are cumulative, so the
 * larger one is taken.
 *
 *	struct kl_counts counts = KL_COUNTS_INIT;
 *	... for each usage object of the stream: kl_counts_read(&counts, dialect, usage, around); ...
 *	kl_counts_into(&reply, &counts, dialect, cache);
 *	kl_counts_release(&counts);
 *
 * Each list of paths is tried in order. A path names members, separated by dots; it begins at the
 * usage object, or with a slash at the object around it.
 */
struct kl_dialect {
	char *name;
	bool includes_cache; /* the input counts what is read from and written to a cache, too */
	struct kl_strvec input, output, total;
	struct kl_strvec cache_read, cache_write, cache_write_5m, cache_write_1h;
	struct kl_strvec cost;                /* in dollars, as charged */
	struct kl_strvec tier, region, speed; /* words */
	struct kl_texts factors;              /* of the price, by such a word: "flex" is "0.5" */
};

extern const struct kl_schema kl_dialect_schema;

/**
 * What was reported of a reply so far; -1: not reported. A protocol sets `final`, and `output` to -1
 * where a count was none yet; the rest is private.
 */
struct kl_counts {
	int64_t input, output, total, read, write, write_5m, write_1h, cost;
	char *tier, *region;
	bool bad;   /* a count is not a number of tokens */
	bool final; /* the last report has come */
};
#define KL_COUNTS_INIT                                                                           \
	{                                                                                        \
		.input = -1, .output = -1, .total = -1, .read = -1, .write = -1, .write_5m = -1, \
		.write_1h = -1, .cost = -1                                                       \
	}

/** `around` is the object that has the usage object as a member. */
void kl_counts_read(struct kl_counts *counts, const struct kl_dialect *dialect, const json_t *usage,
		    const json_t *around);
/**
 * Set the usage, the stated cost and the factor of the price of the reply. Tokens that were written
 * to a cache without a lifetime are counted for the one that was asked for. The usage is known if
 * the final report had both input and output, and every count was one.
 */
void kl_counts_into(struct kl_reply *out, const struct kl_counts *counts,
		    const struct kl_dialect *dialect, enum kl_cache_ttl asked);
void kl_counts_release(struct kl_counts *counts);

#endif
