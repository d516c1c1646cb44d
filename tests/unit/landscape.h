/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_LANDSCAPE_H
#define KL_LANDSCAPE_H

/*
 * landscape - synthetic kernels on which a policy is run alone, without git, model or gate.
 *
 * A kernel is a level; root has level 0. A candidate made from a kernel of level l fails with 0.30,
 * has level l + 1 with 0.35, l - 1 with 0.15 (not below 0), else l. The draws depend on the seed and
 * the number of the candidate only, so that all policies meet the same luck. A candidate that failed
 * passes its parent's level on. Each try of a ticket is a candidate. On LANDSCAPE_NULL the outcome does not depend on the parent.
 */
#include <math.h>

#include "search/policy/experience.h"
#include "test.h"

#define LANDSCAPE_CANDIDATES 48
#define LANDSCAPE_TICKETS 4000

enum landscape { LANDSCAPE_NULL, LANDSCAPE_STAIRS, LANDSCAPE_VALLEY };

struct landscape_run {
	enum landscape kind;
	uint64_t seed;
	/** Writes what a note says; NULL: the policy writes no notes. The caller owns the result. */
	json_t *(*note)(const struct landscape_run *run, const struct kl_intent *intent,
			int64_t ticket);
	/* results */
	int64_t tickets, candidates;
	int64_t best_ppm;
	int64_t level[LANDSCAPE_TICKETS];    /* by ticket */
	int64_t parent[LANDSCAPE_TICKETS];   /* by ticket */
	int64_t curve[LANDSCAPE_CANDIDATES]; /* best after each candidate */
	char state[KL_DIGEST_HEX];           /* digest of what it saw */
	bool past_valley;                    /* some candidate was beyond level 2 */
};

static int64_t landscape_speed(enum landscape kind, int64_t level)
{
	static const double valley[] = { 1, 1.5, .9, 2.5, 2.2, 4, 3.5, 6 };
	double speed = 1;

	if (kind == LANDSCAPE_VALLEY)
		return (int64_t)(valley[level < 7 ? level : 7] * 1e6 + .5);
	for (int64_t i = 0; i < level; i++)
		speed *= 1.2;
	return (int64_t)(speed * 1e6 + .5);
}

/* a standard normal number from two uniform ones (Box and Muller) */
static double landscape_normal(struct kl_rng *rng)
{
	double one = 1 - kl_rng_uniform(rng), two = kl_rng_uniform(rng);

	return sqrt(-2 * log(one)) * cos(2 * 3.14159265358979323846 * two);
}

static void landscape_judge(struct landscape_run *run, struct kl_observation *out)
{
	struct kl_rng rng;
	double coin;
	int64_t level = run->level[out->parent];

	kl_rng_seed(&rng, kl_rng_split(run->seed, (uint64_t)run->candidates++));
	coin = kl_rng_uniform(&rng);
	out->outcome = coin < .3 ? KL_OUTCOME_COMPILE : KL_OUTCOME_CORRECT;
	if (coin >= .3 && coin < .65)
		level++;
	else if (coin >= .65 && coin < .8 && level > 0)
		level--;
	if (run->kind == LANDSCAPE_VALLEY && level > 7)
		level = 7;
	run->level[out->ticket] = level;
	out->bytes = 1000 + (int64_t)(kl_rng_uniform(&rng) * 7000);
	out->instructions = 100 + (int64_t)(kl_rng_uniform(&rng) * 700);
	snprintf(out->surface, sizeof(out->surface), "%064lld", (long long)run->candidates);
	if (out->outcome != KL_OUTCOME_CORRECT)
		return;
	out->speed_ppm = run->kind == LANDSCAPE_NULL ?
				 (int64_t)(exp(-.2 + .5 * landscape_normal(&rng)) * 1e6 + .5) :
				 landscape_speed(run->kind, level);
	out->low_ppm = out->high_ppm = out->speed_ppm;
	run->past_valley |= level > 2;
}

static void landscape_take(struct landscape_run *run, const struct kl_intent *intent, int64_t most,
			   struct kl_observation *out)
{
	out->form = intent->form ? kl_strdup(intent->form) : NULL;
	out->parent = intent->parent;
	run->parent[out->ticket] = intent->parent;
	if (intent->kind == KL_TICKET_SKIP) {
		out->outcome = KL_OUTCOME_SKIPPED;
		out->parent = -1;
	} else if (intent->kind == KL_TICKET_NOTE) {
		out->note = run->note(run, intent, out->ticket);
		out->outcome = out->note ? KL_OUTCOME_NOTE : KL_OUTCOME_NONE;
	} else {
		for (int64_t tries = 0; tries < intent->tries && run->candidates < most &&
					out->outcome != KL_OUTCOME_CORRECT;
		     tries++) {
			landscape_judge(run, out);
			if (out->outcome == KL_OUTCOME_CORRECT && out->speed_ppm > run->best_ppm)
				run->best_ppm = out->speed_ppm;
			run->curve[run->candidates - 1] = run->best_ppm;
		}
	}
}

static struct kl_observation landscape_root(void)
{
	struct kl_observation root = {
		.parent = -1,
		.outcome = KL_OUTCOME_CORRECT,
		.speed_ppm = KL_MILLION,
		.low_ppm = KL_MILLION,
		.high_ppm = KL_MILLION,
		.bytes = 1000,
		.instructions = 100,
	};

	snprintf(root.surface, sizeof(root.surface), "%064d", 0);
	return root;
}

/** Run a cell to its end. `setup` needs no key: the seed gives it. */
static void landscape_search(struct landscape_run *run, struct kl_setup *setup)
{
	static struct kl_observation came[LANDSCAPE_TICKETS];
	struct kl_experience seen;
	bool ended = false;

	kl_draw_key(setup->key, "", "landscape", setup->policy->name, (int64_t)run->seed);
	kl_experience_init(&seen, setup);
	came[0] = landscape_root();
	run->best_ppm = KL_MILLION;
	for (run->tickets = 1; !ended && run->candidates < setup->candidates; run->tickets++) {
		int64_t horizon = setup->policy->horizon(setup, run->tickets);
		struct kl_intent intent = { 0 };

		assert_true(run->tickets < LANDSCAPE_TICKETS && horizon < run->tickets);
		while (seen.n <= horizon)
			kl_experience_add(&seen, &came[seen.n]);
		kl_experience_propose(&intent, &seen, run->tickets);
		came[run->tickets] = (struct kl_observation){ .ticket = run->tickets };
		ended = intent.kind == KL_TICKET_END;
		if (!ended)
			landscape_take(run, &intent, setup->candidates, &came[run->tickets]);
		kl_intent_release(&intent);
	}
	kl_experience_digest(run->state, &seen);
	kl_experience_release(&seen);
	for (int64_t i = 0; i < run->tickets; i++)
		kl_observation_release(&came[i]);
}

struct landscape_mean {
	double speed; /* geometric mean of the best */
	double past;  /* share of cells past the first valley */
};

/** The mean over many seeds. */
static inline struct landscape_mean landscape_means(
	struct kl_setup *setup, enum landscape kind, int seeds,
	json_t *(*note)(const struct landscape_run *, const struct kl_intent *, int64_t))
{
	struct landscape_mean mean = { 0 };

	for (int i = 0; i < seeds; i++) {
		struct landscape_run *run = kl_calloc(1, sizeof(*run));

		run->kind = kind;
		run->seed = (uint64_t)i + 1;
		run->note = note;
		landscape_search(run, setup);
		mean.speed += log((double)run->best_ppm / 1e6) / seeds;
		mean.past += (double)run->past_valley / seeds;
		free(run);
	}
	mean.speed = exp(mean.speed);
	return mean;
}

/** `got` must be within 3 % of `want`. */
static inline void landscape_assert(const char *what, double got, double want)
{
	if (fabs(got / want - 1) > .03)
		fail_msg("%s: %.3f instead of %.3f", what, got, want);
}

#endif
