/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WALK_FINISH_H
#define KL_WALK_FINISH_H

#include "walk/sequencer.h"

/*
 * finish - ends an operation in one transaction: writes the gate notes and the refs of the walk,
 * the lineage and the rejections, and deletes the operation. A repetition after a crash makes the
 * same commits and skips the refs that are already written. Sets the names of the refs in `out`.
 */
int kl_finish_write(struct kl_opstate *op, struct kl_outcome *out);

#endif
