/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_STUDY_STUDY_RESULTS_H
#define KL_STUDY_STUDY_RESULTS_H

#include "study/final.h"
#include "study/inference.h"
#include "study/standing.h"

/*
 * study_results - what the cells of a study found and spent, as numbers for a report. Nothing is
 * measured.
 *
 * The figures use the balanced part of a study: the seeds that have ended for every policy on every
 * task. The others are listed, but not compared.
 */

/** What became of the candidates of a cell. */
enum kl_validity {
	KL_VALIDITY_UNUSABLE, /* no reply that makes a candidate */
	KL_VALIDITY_COMPILE,
	KL_VALIDITY_LAUNCH,
	KL_VALIDITY_FAULT,
	KL_VALIDITY_HANG,
	KL_VALIDITY_WRONG,
	KL_VALIDITY_CHEAT,
	KL_VALIDITY_NO_CHANGE, /* the same kernel as its parent */
	KL_VALIDITY_KNOWN,     /* the same kernel as another one of the cell */
	KL_VALIDITY_RIGHT,
	KL_VALIDITY_FASTER, /* right, and faster than the root by the whole interval */
};
#define KL_VALIDITIES (KL_VALIDITY_FASTER + 1)
extern const char *const kl_validity_name[KL_VALIDITIES];

#define KL_DOLLAR_POINTS 20

struct kl_cell_result {
	struct kl_study_cell cell;
	bool ended;
	enum kl_end_reason reason;
	char chain[KL_OID_HEX]; /* tip of the chain; "" if the cell is open */
	int64_t tickets, candidates, correct, nano;
	int64_t best_ppm;   /* fastest correct candidate, below 1000000 if slower; 0: none */
	int64_t first_gain; /* number of the first candidate faster than the root; 0: none */
	int64_t valid[KL_VALIDITIES];
	int64_t added, again; /* lines that candidates added; of these, that an ancestor removed */
	/*
	 * ln of the best speed, at least 0 because the root can be kept: after each of the
	 * `candidates` of the plan, then at KL_DOLLAR_POINTS equal parts of the cap
	 */
	double *curve;
	int64_t winner_ppm; /* speed of the best when the search chose it; 0: none is faster */
	int64_t final_ppm;  /* its median speed in the final measurements; 0: not measured */
	json_t *tokens;     /* for each role: input, output and cached tokens */
};

struct kl_study_results {
	const struct kl_study *study;
	struct kl_cell_result *v; /* in the order of kl_study_cell() */
	size_t n;
	int64_t seeds; /* seeds 1 to this are the balanced part */
	size_t points; /* length of each curve */
	struct kl_final final;
	bool paid; /* money was spent */
};

/** Load the results of all cells. Errors are those of kl_standing_load(). */
int kl_study_results_load(struct kl_study_results *out, struct kl_repo *repo,
			  const struct kl_study *study);
void kl_study_results_release(struct kl_study_results *results);

/** Group the curves of an arm's balanced cells by task; the caller releases *out. */
void kl_study_results_strata(struct kl_strata *out, const struct kl_study_results *results,
			     size_t arm);
void kl_strata_release(struct kl_strata *strata);
/** Return true if the cell is in the balanced part. */
bool kl_study_results_is_balanced(const struct kl_study_results *results,
				  const struct kl_cell_result *cell);
/** Return "real", "recorded" or "simulated": what the figures are made from. */
const char *kl_study_evidence(const struct kl_study *study);

#endif
