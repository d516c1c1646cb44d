/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CMD_GATE_RETRACT_H
#define KL_CMD_GATE_RETRACT_H

#include "event/retraction.h"

/*
 * gate_retract - git klineage gate --retract: withdraws an event, and says whether other clones
 * will also ignore it.
 */
/** Retract an event, and print what was done. Returns 0 or an error. */
int kl_gate_retract(struct kl_repo *repo, const struct kl_retraction_opts *opts, bool json);

#endif
