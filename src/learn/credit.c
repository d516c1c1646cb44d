/* SPDX-License-Identifier: Apache-2.0 */
#include "learn/credit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "apply/card_commit.h"
#include "base/rng.h"

#define SAMPLES 10000
#define SEED 15 /* any number; it is fixed, so that the same trials give the same interval */

const char *kl_credit_name(enum kl_credit_control control)
{
	static const char *const names[] = { "intent", "bare", "wrong" };

	return names[control];
}

void kl_credit_release(struct kl_credit *credit)
{
	for (size_t i = 0; i < credit->n; i++)
		free(credit->v[i].workload);
	free(credit->v);
}

double kl_credit_gain(enum kl_result result, const char *class_, const struct kl_ratio *ratio)
{
	bool correct = result == KL_RESULT_PASS || (class_ && kl_card_commit_is_correct(class_));

	if (!correct || ratio->ppm <= 1000000 || (class_ && !strcmp(class_, "no-change")))
		return 0;
	return log((double)ratio->ppm / 1e6);
}

static void add_unit(struct kl_credit *credit, const struct kl_card_trial *trial,
		     const struct kl_card_control *control, enum kl_credit_control which)
{
	double card = kl_credit_gain(trial->result, trial->class_, &trial->ratio);

	if (!control->there)
		return;
	KL_GROW(credit->v, credit->n + 1, credit->alloc);
	credit->v[credit->n++] = (struct kl_credit_unit){
		.workload = kl_strdup(trial->workload),
		.control = which,
		.gain = card - kl_credit_gain(control->result, control->class_, &control->ratio),
	};
}

void kl_credit_add(struct kl_credit *credit, const struct kl_card *card)
{
	for (size_t i = 0; i < card->ver.n; i++) {
		const struct kl_card_trial *trial = &card->ver.v[i];

		if (trial->retracted || trial->how != KL_HOW_AGENT)
			continue;
		if (!trial->isolated) {
			credit->seen++;
			continue;
		}
		add_unit(credit, trial, &trial->control, KL_CREDIT_INTENT);
		add_unit(credit, trial, &trial->bare, KL_CREDIT_BARE);
		add_unit(credit, trial, &trial->wrong, KL_CREDIT_WRONG);
	}
}

/* --- the bootstrap ---------------------------------------------------------------------------- */

/* The units of one workload: their sum and number. */
struct cluster {
	const char *workload;
	double sum;
	size_t n;
};

static int by_value(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return (left > right) - (left < right);
}

static size_t find_clusters(struct cluster *out, const struct kl_credit *credit,
			    enum kl_credit_control control)
{
	size_t n = 0;

	for (size_t i = 0; i < credit->n; i++) {
		const struct kl_credit_unit *unit = &credit->v[i];
		size_t k = 0;

		if (unit->control != control)
			continue;
		while (k < n && strcmp(out[k].workload, unit->workload) != 0)
			k++;
		if (k == n)
			out[n++] = (struct cluster){ .workload = unit->workload };
		out[k].sum += unit->gain;
		out[k].n++;
	}
	return n;
}

static void bootstrap(struct kl_credit_sum *sum, const struct cluster *cluster, size_t n)
{
	double *mean = kl_calloc(SAMPLES, sizeof(*mean));
	struct kl_rng rng;

	kl_rng_seed(&rng, SEED);
	for (size_t i = 0; i < SAMPLES; i++) {
		double total = 0;
		size_t units = 0;

		for (size_t k = 0; k < n; k++) {
			const struct cluster *drawn = &cluster[kl_rng_below(&rng, n)];

			total += drawn->sum;
			units += drawn->n;
		}
		mean[i] = total / (double)units;
	}
	qsort(mean, SAMPLES, sizeof(*mean), by_value);
	sum->lo = mean[SAMPLES / 40];
	sum->hi = mean[SAMPLES - 1 - SAMPLES / 40];
	free(mean);
}

static void compute_sum(struct kl_credit *credit, enum kl_credit_control control)
{
	struct kl_credit_sum *sum = &credit->sum[control];
	struct cluster *cluster = kl_calloc(credit->n + 1, sizeof(*cluster));
	double total = 0;

	*sum = (struct kl_credit_sum){ .mean = NAN, .lo = NAN, .hi = NAN };
	for (size_t i = 0; i < credit->n; i++) {
		if (credit->v[i].control != control)
			continue;
		sum->units++;
		sum->won += credit->v[i].gain > 0;
		sum->lost += credit->v[i].gain < 0;
		total += credit->v[i].gain;
	}
	sum->workloads = find_clusters(cluster, credit, control);
	if (sum->units)
		sum->mean = total / (double)sum->units;
	if (sum->workloads > 1)
		bootstrap(sum, cluster, sum->workloads);
	free(cluster);
}

void kl_credit_compute(struct kl_credit *credit)
{
	for (int control = 0; control < KL_CREDIT_CONTROLS; control++)
		compute_sum(credit, (enum kl_credit_control)control);
}
