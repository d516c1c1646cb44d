/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_MODEL_RECORDING_H
#define KL_MODEL_RECORDING_H

#include "base/buf.h"
#include "repo/repo.h"

/*
 * recording - the conversations of a walk as one file that provider `replay` answers from
 * (docs/formats.md, "Recordings").
 */

/** KL_ENOTFOUND: there are none; KL_EINVALID: a reply that JSON cannot hold as it is. */
int kl_recording_format(struct kl_buf *out, struct kl_repo *repo, const char *workload,
			const char *name);

#endif
