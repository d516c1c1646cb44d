/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_MEASURE_BLOCKS_H
#define KL_WORKER_MEASURE_BLOCKS_H

#include "base/rng.h"
#include "base/stats.h"
#include "text/json.h"

/*
 * blocks - the profile's schedule and its figures: who is measured in which order, how often,
 * until when, and what comes out. What one measurement is, of a processor or of a GPU, is its
 * caller's: a sampler.
 *
 * In each block every subject is measured twice, on either side of the block's
 * middle, so that a drift of the machine falls on all alike; the candidate is there
 * twice, so that what it differs from itself (A/A) says what a difference
 * is worth. All is reckoned in logarithms of times, paired within a block.
 *
 *	struct kl_blocks b = { .min = 8, .max_ms = 15000, .rng = &rng, .sample = f, .ctx = me };
 *	b.subject[KL_BLOCKS_CANDIDATE].there = b.subject[KL_BLOCKS_AGAIN].there = true;
 *	b.subject[KL_BLOCKS_PARENT] = (struct kl_blocks_subject){ .what = "parent", .there = true };
 *	if (!(err = kl_blocks_run(&b)))
 *		at = kl_blocks_report(&b, "case0", notes);
 *	kl_blocks_release(&b);
 */
enum kl_blocks_who {
	KL_BLOCKS_CANDIDATE,
	KL_BLOCKS_AGAIN,
	KL_BLOCKS_PARENT,
	KL_BLOCKS_BASELINE,
	KL_BLOCKS_SUBJECTS
};

struct kl_blocks_subject {
	const char *what; /* in the report; of those that are compared with */
	bool there;       /* a sampler clears it when the subject does not work out */
	bool once;        /* one measurement a block will do; a sampler sets it */
	double *log_ns;   /* one a block; the engine's */
};

struct kl_blocks {
	struct kl_blocks_subject subject[KL_BLOCKS_SUBJECTS];
	size_t min; /* blocks */
	int64_t max_ms;
	struct kl_rng *rng; /* order */
	/**
	 * One measurement: add the logarithm of its nanoseconds to *log_ns. What is not 0
	 * ends the run and is what kl_blocks_run returns: an error, or a caller's own positive
	 * number.
	 */
	int (*sample)(void *ctx, enum kl_blocks_who who, double *log_ns);
	void (*begin)(void *ctx);       /* of a block; may be NULL */
	int64_t (*clock_ns)(void *ctx); /* NULL: the system's */
	void *ctx;
	size_t n; /* blocks so far */
	size_t alloc;
};

/** Blocks until the intervals are narrow or the time is up. */
int kl_blocks_run(struct kl_blocks *blocks);
void kl_blocks_release(struct kl_blocks *blocks);

/**
 * Logarithm of `who`'s time over the candidate's, its two measurements taken together; of
 * KL_BLOCKS_AGAIN over the candidate's first.
 */
struct kl_interval kl_blocks_ratio(const struct kl_blocks *blocks, enum kl_blocks_who who);
/** The typical time; of KL_BLOCKS_CANDIDATE both its measurements. */
int64_t kl_blocks_ns(const struct kl_blocks *blocks, enum kl_blocks_who who);
/** A point of result.profile.points; what weakens its figures is added to `notes`. */
json_t *kl_blocks_report(const struct kl_blocks *blocks, const char *id, json_t *notes);

/** Add a sentence to an array of them, unless it is there. */
void kl_blocks_note(json_t *notes, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
