/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_GATE_AHEAD_H
#define KL_GATE_AHEAD_H

#include "gate/build.h"
#include "gate/runner/runner.h"

/*
 * ahead - compiles the next candidate while a device judges the current one.
 *
 * While a job runs on the CPU, nothing is compiled, because this would disturb the timing.
 */

/* The surfaces to compile for the next judgement; borrowed. */
struct kl_ahead {
	const struct kl_surface *candidate; /* NULL if the next candidate is not known */
	const struct kl_surface *parent;    /* NULL if the candidate has no parent */
	bool baseline;                      /* compile a shipped baseline as well */
};

/**
 * Run the job. If a device runs the job, compile the surfaces of `next` at the same time in a
 * second thread; no other code may use the builder until this function returns. Only errors of the
 * job are returned: a surface that could not be compiled is compiled again in its own judgement,
 * which then reports the error.
 */
int kl_ahead_run(json_t **result, const struct kl_runner *runner, const struct kl_runner_work *work,
		 struct kl_builder *builder, const struct kl_ahead *next);

#endif
