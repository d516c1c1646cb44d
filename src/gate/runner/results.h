/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_GATE_RUNNER_RESULTS_H
#define KL_GATE_RUNNER_RESULTS_H

#include "repo/repo.h"
#include "text/json.h"

/*
 * results - imports the results of a worker elsewhere, as far as they can be checked
 * (docs/formats.md, "Bundles and results"; klineage.results/1): every line is whole, answers a job
 * that this clone sent away, and speaks of the same files; where klineage.requireSigned is set the
 * whole bears the signature of an allowed signer. What is left becomes verdicts as those of a
 * local run do, in the cache and as notes on the commits that have that surface. What is refused
 * harms nothing else. Taking the same results again changes nothing.
 */
struct kl_results {
	size_t imported, again; /* new; known before */
	size_t refused, cannot; /* not believed; not judged there either */
	/* of the first that was refused or not judged; NULL: none */
	char *why;
	struct kl_strvec lines; /* for a person, one a result */
	char *signer;           /* NULL: not signed */
};
void kl_results_release(struct kl_results *results);

/** KL_EINVALID: some or all was refused, the message says what first; the rest is imported. */
int kl_results_take(struct kl_results *out, struct kl_repo *repo, const char *text, size_t len);
int kl_results_file(struct kl_results *out, struct kl_repo *repo, const char *path);

#endif
