/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_GATE_RUNNER_H
#define KL_GATE_RUNNER_H

#include "gate/jail.h"
#include "text/json.h"

/*
 * runner - carries a job to klineage-worker and brings its result back. Local
 * for now: in the run jail of this machine.
 */

/**
 * Run `job`; everything it names lies in `dir`, the only writable place. The
 * result is checked for its form: whatever the worker prints is input
 * like any other. KL_ECANNOT: the worker could not run here; the message has its words.
 */
int kl_runner_local(json_t **result, const struct kl_jail *jail, const json_t *job,
		    const char *dir, int64_t timeout_ms);

#endif
