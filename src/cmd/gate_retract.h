/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CMD_GATE_RETRACT_H
#define KL_CMD_GATE_RETRACT_H

#include "event/retraction.h"

/*
 * gate_retract - git klineage gate --retract: withdraws an event, and prints for whom this counts.
 */
/** Retract an event, and print what was done. Returns the result of the verb. */
int kl_gate_retract(struct kl_repo *repo, const struct kl_retraction_opts *opts, bool json);

#endif
