/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WALK_FINISH_H
#define KL_WALK_FINISH_H

#include "walk/sequencer.h"

/*
 * finish - ends an operation in one transaction: it writes the refs of the walk, the lineage and
 * the rejections and the gate notes, and deletes the operation. If it is repeated after a crash, it
 * makes the same commits and skips refs that are already written. It sets the names of the refs in
 * `out`.
 */
int kl_finish_write(struct kl_opstate *op, struct kl_outcome *out);

#endif
