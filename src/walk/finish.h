/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WALK_FINISH_H
#define KL_WALK_FINISH_H

#include "walk/sequencer.h"

/*
 * finish - ends an operation in one transaction: walk, lineage, rejected, the gate notes, and the
 * operation deleted. Written again after a crash it makes the same commits and finds what is done
 * already.
 */
int kl_finish_write(struct kl_opstate *op, struct kl_outcome *out);

#endif
