/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_MODEL_PROVIDER_DIALECT_H
#define KL_MODEL_PROVIDER_DIALECT_H

#include "base/vec.h"
#include "model/provider/message.h"
#include "text/json.h"
#include "text/schema.h"

/*
 * dialect - how providers report the tokens of a reply: the members of a usage object, as data
 * (templates/providers.yaml). A stream can report the tokens several times. The counts are
 * cumulative, so the largest count is taken.
 *
 *	struct kl_counts counts = KL_COUNTS_INIT;
 *	... for each usage object of the stream: kl_counts_read(&counts, dialect, usage, around); ...
 *	kl_counts_into(&reply, &counts, dialect, cache);
 *	kl_counts_release(&counts);
 *
 * Each list of paths is tried in order. A path names members, separated by dots. It begins at the
 * usage object, or, if it has a leading slash, at the object that contains the usage object.
 */
struct kl_dialect {
	char *name;
	/* the input count includes the tokens that are read from or written to a cache */
	bool includes_cache;
	struct kl_strvec input, output, total;
	struct kl_strvec cache_read, cache_write, cache_write_5m, cache_write_1h;
	struct kl_strvec cost;                /* in dollars, as charged */
	struct kl_strvec tier, region, speed; /* words */
	/* factors of the price, by a tier, region or speed: "flex" is "0.5" */
	struct kl_texts factors;
};

extern const struct kl_schema kl_dialect_schema;

/**
 * The token counts reported for a reply so far; -1 if not reported. A protocol sets `final`, and
 * sets `output` back to -1 if the reported output is not that of the reply. The other members are
 * private.
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

/** Read a usage object. `around` is the object that contains it. */
void kl_counts_read(struct kl_counts *counts, const struct kl_dialect *dialect, const json_t *usage,
		    const json_t *around);
/**
 * Set the usage, the stated cost and the factor of the price of the reply. Tokens written to a
 * cache whose lifetime is not reported count as written to the cache `asked`. The usage is known if
 * the last report has come, input and output were reported, and every count was a number of tokens.
 */
void kl_counts_into(struct kl_reply *out, const struct kl_counts *counts,
		    const struct kl_dialect *dialect, enum kl_cache_ttl asked);
void kl_counts_release(struct kl_counts *counts);

#endif
