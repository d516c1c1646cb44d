/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_STUDY_INFERENCE_H
#define KL_STUDY_INFERENCE_H

#include <stddef.h>
#include <stdint.h>

/*
 * inference - the statistics of a study: means with bootstrap bands, the probability that one policy
 * is better than another, Holm's correction, and what a study of a given size can tell apart.
 *
 * All numbers consist of IEEE operations in a fixed order and of draws from a fixed key, so the
 * same study gives the same digits on every machine (search/policy/number.h).
 *
 * The cells of a policy are grouped by task. A task counts the same as any other, whatever its
 * number of cells; tasks without cells are left out.
 */

/** The cells of one task: each has `points` numbers, for example one after each candidate. */
struct kl_stratum {
	const double **cell;
	size_t n;
};

struct kl_strata {
	struct kl_stratum *v; /* one for each task */
	size_t n;
};

/** A mean and its interval: 2.5 % of the draws are below `lo`, 2.5 % above `hi`. */
struct kl_band {
	double mid, lo, hi;
};

/** Number of bootstrap draws. */
#define KL_DRAWS 10000

/** Return the mean over the tasks of the mean over the cells of number `at`; 0 without cells. */
double kl_inference_mean(const struct kl_strata *strata, size_t at);
/**
 * Compute the mean of each of the `points` numbers, with a bootstrap band: cells are drawn with
 * replacement within each task. The draws come from the stream of `label` under `key`.
 */
void kl_inference_bands(struct kl_band *out, const struct kl_strata *strata, size_t points,
			const char *key, const char *label);

struct kl_better {
	struct kl_band band; /* probability that a cell of the first policy is better */
	double p;            /* two-sided p-value of the hypothesis that it is one half */
};
/**
 * Compare number `at` of two policies, of which `strata` have the same tasks in the same order. The
 * probability is the mean over the tasks of U / (n m), where U counts the pairs of cells that the
 * first policy wins, ties as one half. The p-value is that of the bootstrap, but at least the
 * smallest that an exact permutation test of so few cells could give.
 */
void kl_inference_better(struct kl_better *out, const struct kl_strata *first,
			 const struct kl_strata *second, size_t at, const char *key,
			 const char *label);
/** Replace `n` p-values by those of Holm's step-down correction. */
void kl_inference_holm(double *p, size_t n);

/**
 * Return the standard deviation of number `at` between the cells of a task, pooled over the tasks;
 * -1 if no task has two cells.
 */
double kl_inference_sd(const struct kl_strata *strata, size_t at);
/**
 * Return the ratio of speeds that two policies with `cells` cells each must have to be told apart
 * with a probability of 80 %, if ln(speed) has the standard deviation `sd` between seeds.
 */
double kl_inference_power(double sd, size_t cells);

#endif
