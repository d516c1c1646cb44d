/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_GATE_WAVE_H
#define KL_GATE_WAVE_H

#include "gate/gate.h"

/*
 * wave - judges many kernels, whether the verdicts come at once or later.
 *
 * A wave consists of all kernels and points that can be judged next, because their judgement
 * depends on no verdict that is still missing. The caller asks the session about each of them, uses
 * the verdicts that are known, and leaves out what depends on a deferred one
 * (kl_judgement.deferred). The jobs of the wave wait in the session and are sent together, as one
 * bundle. Once the results are imported, the caller asks again, gets the verdicts, and also asks
 * about the kernels that depended on them. Those kernels are the next wave.
 *
 *	kl_wave_run(&wave, gate, advance, payload);
 *	if (wave.sent.waiting) ...		the user takes wave.sent.file to a worker
 *
 * A session that judges at once has no deferred jobs, so everything is one wave. Of a wave, only
 * the jobs are stored (gate/runner/pending_jobs.h). If a command was stopped or killed, the next
 * run asks about everything again and finds the verdicts that were imported.
 */
struct kl_wave {
	size_t n;                /* number of waves of this run */
	struct kl_transfer sent; /* the last bundle; sent.waiting is set if it has no results yet */
};

/**
 * Call `advance` and send the jobs that wait, and repeat this while the runner returns results at
 * once. Return 0 if no job waits any more, or if the user must carry the bundle to a worker: then
 * out->sent.waiting is set. Return KL_ECANNOT if the worker could not judge a job, or if results
 * changed nothing, so that the next wave would be the same. Other errors are those of `advance` and
 * kl_gate_send().
 */
int kl_wave_run(struct kl_wave *out, struct kl_gate *gate, int (*advance)(void *payload),
		void *payload);
void kl_wave_release(struct kl_wave *wave);

#endif
