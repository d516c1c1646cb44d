/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_MEASURE_BLOCKS_H
#define KL_WORKER_MEASURE_BLOCKS_H

#include "base/rng.h"
#include "base/stats.h"
#include "text/json.h"

/*
 * blocks - schedules the profile's measurements and computes their statistics: order, stopping
 * rule, intervals. The caller supplies a sampler, which takes one measurement on a processor or on
 * a GPU.
 *
 * Each block measures every subject twice, once on either side of the block's middle, so that a
 * drift of the machine affects all of them equally. The candidate is measured as two subjects; the
 * ratio of their times (A/A) shows how much the times of equal kernels differ. All statistics are
 * computed from logarithms of times, paired within a block.
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
	KL_BLOCKS_AGAIN, /* the candidate again, as a second subject */
	KL_BLOCKS_PARENT,
	KL_BLOCKS_BASELINE,
	KL_BLOCKS_SUBJECTS
};

struct kl_blocks_subject {
	const char *what; /* name in the report; only for the parent and the baseline */
	/* true to measure the subject; the sampler clears it if the subject cannot be measured */
	bool there;
	bool once;      /* set by the sampler if one measurement in each block is enough */
	double *log_ns; /* mean logarithm of ns for each block; owned by this module */
};

struct kl_blocks {
	struct kl_blocks_subject subject[KL_BLOCKS_SUBJECTS];
	size_t min;         /* minimum number of blocks, unless calls are slow */
	int64_t max_ms;     /* time for all blocks, in ms */
	struct kl_rng *rng; /* draws the order of subjects */
	/**
	 * Take one measurement and add the logarithm of its nanoseconds to *log_ns. A return value
	 * other than 0 ends the run, and kl_blocks_run() returns it: a negative error, or a
	 * positive number, whose meaning is up to the caller.
	 */
	int (*sample)(void *ctx, enum kl_blocks_who who, double *log_ns);
	void (*begin)(void *ctx);       /* called at the start of each block; may be NULL */
	int64_t (*clock_ns)(void *ctx); /* NULL to use the system clock */
	void *ctx;
	size_t n; /* number of complete blocks so far */
	size_t alloc;
};

/** Measure blocks until the intervals are narrow enough or the time is up. */
int kl_blocks_run(struct kl_blocks *blocks);
void kl_blocks_release(struct kl_blocks *blocks);

/**
 * Return the interval of log(time of `who` / time of the candidate). The candidate's time is the
 * mean of both its subjects, except that KL_BLOCKS_AGAIN is compared with KL_BLOCKS_CANDIDATE.
 */
struct kl_interval kl_blocks_ratio(const struct kl_blocks *blocks, enum kl_blocks_who who);
/**
 * Return the typical time of `who` in nanoseconds; for KL_BLOCKS_CANDIDATE, that of both subjects
 * of the candidate together.
 */
int64_t kl_blocks_ns(const struct kl_blocks *blocks, enum kl_blocks_who who);
/**
 * Make the entry of result.profile.points for the point `id`; the caller owns it. If the times are
 * less certain than usual, append the reason to `notes`.
 */
json_t *kl_blocks_report(const struct kl_blocks *blocks, const char *id, json_t *notes);

/** Append a message to `notes`, unless it is already there. */
void kl_blocks_note(json_t *notes, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
