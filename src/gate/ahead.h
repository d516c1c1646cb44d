/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_GATE_AHEAD_H
#define KL_GATE_AHEAD_H

#include "gate/build.h"
#include "gate/runner/runner.h"

/*
 * ahead - compiles the next candidate while a device judges this one.
 *
 * Kernels that a CPU judges are timed there, so nothing is compiled beside them.
 */

/* What the next judgement will need. */
struct kl_ahead {
	const struct kl_surface *candidate; /* NULL: the next candidate is not known */
	const struct kl_surface *parent;    /* NULL: none */
	bool baseline;                      /* compile a shipped baseline as well */
};

/**
 * Run the job, and if a device does it, compile `next` meanwhile. Nobody else may use the builder
 * until this returns. Errors are those of the job; what could not be compiled is compiled again, and
 * its error reported, when it is needed.
 */
int kl_ahead_run(json_t **result, const struct kl_runner *runner, const struct kl_runner_work *work,
		 struct kl_builder *builder, const struct kl_ahead *next);

#endif
