/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_BATCH_H
#define KL_WORKER_BATCH_H

/*
 * batch - runs the jobs of a bundle one after the other (`klineage-worker --bundle`). Each job gets
 * a worker process of its own, so that a crash does not affect the next. Jobs with the same
 * contract share the pool of inputs, and the contract is audited once.
 */
struct kl_batch {
	const char *bundle;   /* a file, or "-" for stdin */
	const char *output;   /* NULL: stdout */
	const char *sign_key; /* NULL: the results are not signed */
};

/**
 * Run all jobs and write their results. Results that were written before an error are kept; call
 * again with the same output to do the other jobs.
 */
int kl_batch_run(const struct kl_batch *opts);

#endif
