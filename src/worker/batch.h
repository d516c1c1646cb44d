/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_BATCH_H
#define KL_WORKER_BATCH_H

/*
 * batch - runs the jobs of a bundle one after the other (`klineage-worker --bundle`). Each job runs
 * in a separate worker process, so that a crash does not affect the next job. Jobs with the same
 * contract share one pool of inputs and one audit of the contract.
 */
struct kl_batch {
	const char *bundle;   /* a file, or "-" for stdin */
	const char *output;   /* file for the results; NULL for stdout */
	const char *sign_key; /* file of an SSH key; NULL if the results are not signed */
};

/**
 * Run all jobs and write their results. Results that were written before an error are kept; call
 * again with the same output to do the remaining jobs.
 */
int kl_batch_run(const struct kl_batch *opts);

#endif
