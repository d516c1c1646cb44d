/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_BATCH_H
#define KL_WORKER_BATCH_H

/*
 * batch - runs the jobs of a bundle, one after the other: `klineage-worker --bundle`, each by a
 * worker process of its own, so that none harms the next. Jobs under one contract share the pool
 * of inputs, and its audit is asked once.
 */
struct kl_batch {
	const char *bundle;   /* a file, or "-": stdin */
	const char *output;   /* NULL: stdout */
	const char *sign_key; /* NULL: the results are not signed */
};

/** 0: the results are whole. What is done stays done whatever ends it. */
int kl_batch_run(const struct kl_batch *opts);

#endif
