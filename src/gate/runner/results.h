/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_GATE_RUNNER_RESULTS_H
#define KL_GATE_RUNNER_RESULTS_H

#include "repo/repo.h"
#include "text/json.h"

/*
 * results - checks and imports the results of a worker elsewhere (docs/formats.md, "Bundles and
 * results"; klineage.results/1). Every line must be intact, answer a job that this clone sent, and
 * name the same files; if klineage.requireSigned is set, an allowed signer must have signed the
 * file. Each accepted result becomes a verdict like that of a local run, in the cache and as notes
 * on the commits with that surface. A refused result does not affect the others. Importing the same
 * results again changes nothing.
 */
struct kl_results {
	size_t imported, again; /* new results; results known before */
	size_t refused, cannot; /* failed a check; could not be judged by the worker */
	/* reason of the first refused result, else of the first one not judged; NULL: none */
	char *why;
	struct kl_strvec lines; /* report for the user, one entry per result */
	char *signer;           /* NULL: not signed, or not verified */
};
void kl_results_release(struct kl_results *results);

/**
 * Check and import results. KL_EINVALID: at least one was refused. The message has the number of
 * refused results and the reason of the first; the results that were not refused are imported.
 */
int kl_results_take(struct kl_results *out, struct kl_repo *repo, const char *text, size_t len);
/** The same for a file; "-" is standard input. */
int kl_results_file(struct kl_results *out, struct kl_repo *repo, const char *path);

#endif
