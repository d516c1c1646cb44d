/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REWRITE_EDITS_H
#define KL_REWRITE_EDITS_H

#include "contract/surface.h"
#include "rewrite/reply/envelope.h"

/*
 * edits - applies the edits of a reply to a surface: all of them exactly as written, or none.
 *
 * Only sources of the surface can be edited, not the contract, the oracle or other files. Edits of
 * one file are applied in the order of the reply, each to the result of the previous ones. The text
 * of a search must occur exactly once, as whole lines.
 */

/**
 * Compute the changed files; the caller frees *edit by kl_edits_free(). Return KL_EINVALID if an
 * edit cannot be applied or changes nothing. The message tells the author of the reply why.
 */
int kl_edits_apply(struct kl_file **edit, size_t *n, const struct kl_surface *surface,
		   const struct kl_envelope *reply);

/** Find the source at `path`. Return KL_EINVALID if it is not a source that may be edited. */
int kl_edits_path(const struct kl_file **out, const struct kl_surface *surface, const char *path);

#endif
