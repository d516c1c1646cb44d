/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_GATE_WAVE_H
#define KL_GATE_WAVE_H

#include "gate/gate.h"

/*
 * wave - one way to judge many kernels, whether the verdicts come at once or later.
 *
 * A wave is what can be judged next: all kernels and points whose judgement depends on no verdict
 * that is still missing. Whoever judges them asks the session for each, takes the verdicts that are
 * known, and leaves out what depends on a deferred one (kl_judgement.deferred). The jobs of the
 * wave wait in the session and are sent together, as one bundle. When the results are imported, the
 * same questions find verdicts, and what they decide is asked in the next wave.
 *
 *	kl_wave_run(&wave, gate, advance, payload);
 *	if (wave.sent.waiting) ...		the user takes wave.sent.file to a worker
 *
 * A session that judges at once has no deferred jobs, so everything is one wave. Nothing about a
 * wave is stored but the jobs (gate/runner/pending_jobs.h): a command that was stopped or killed
 * asks everything again, and finds the verdicts that were imported.
 */
struct kl_wave {
	size_t n;                /* number of waves of this run */
	struct kl_transfer sent; /* the last bundle; `waiting`: its results are not there yet */
};

/**
 * Call `advance` and send the jobs that wait, as often as the runner brings results back at once.
 * Returns 0 when nothing waits any more, and also if `out->sent.waiting` is set. Return KL_ECANNOT
 * if the worker could not judge a job, or results changed nothing, so that another wave would be
 * the same. Other errors are those of `advance` and kl_gate_send().
 */
int kl_wave_run(struct kl_wave *out, struct kl_gate *gate, int (*advance)(void *payload),
		void *payload);
void kl_wave_release(struct kl_wave *wave);

#endif
