/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_GATE_RUNNER_RESULTS_H
#define KL_GATE_RUNNER_RESULTS_H

#include "repo/repo.h"
#include "text/json.h"

/*
 * results - checks and imports the results of a worker elsewhere (docs/formats.md, "Bundles and
 * results"; klineage.results/1). Every line must match its digest, answer a job that this clone
 * sent, and name the job's surface and contract. If klineage.requireSigned is set, an allowed
 * signer must have signed the file. Each accepted result becomes a verdict like that of a local
 * run: it is cached and noted on the commits with that surface. If the caller names a campaign, all
 * verdicts become events in its segments instead (event/segment_writer.h), where a later run finds
 * them as in the cache: this is for results that are too many for a note each. A refused result
 * does not affect the others. Importing the same results again changes nothing.
 */
struct kl_results {
	/* set by the caller: name of a campaign; NULL for notes and cache */
	const char *campaign;
	size_t imported, again; /* numbers of new results and of results imported before */
	size_t refused, cannot; /* results that failed a check; jobs the worker could not judge */
	/*
	 * why the first refused result was refused; if none was refused, why the worker could not
	 * judge the first job that it could not judge; NULL if there was no such result or job
	 */
	char *why;
	struct kl_strvec lines; /* report for the user, a line or two per result */
	/* NULL if the file is not signed, or its signature was not verified */
	char *signer;
	struct kl_strvec campaigns; /* "<workload>/<campaign>": where the events are */
};
void kl_results_release(struct kl_results *results);

/**
 * Check and import results; all members of `out` but `campaign` are zero. Return KL_EINVALID if at
 * least one result was refused. The message has the number of refused results and the reason why
 * the first was refused; the results that were not refused are imported.
 */
int kl_results_take(struct kl_results *out, struct kl_repo *repo, const char *text, size_t len);
/** Read results from a file, then check and import them. Path "-" means standard input. */
int kl_results_file(struct kl_results *out, struct kl_repo *repo, const char *path);

#endif
