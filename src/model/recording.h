/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_MODEL_RECORDING_H
#define KL_MODEL_RECORDING_H

#include "base/buf.h"
#include "repo/repo.h"

/*
 * recording - the conversations of a walk as one file, from which provider `replay` answers
 * (docs/formats.md, "Recordings").
 */

/**
 * Append the recording of the conversations of the walk `name`. Return KL_ENOTFOUND if there are
 * none, or KL_EINVALID if a reply is not UTF-8, so JSON cannot hold it.
 */
int kl_recording_format(struct kl_buf *out, struct kl_repo *repo, const char *workload,
			const char *name);

#endif
