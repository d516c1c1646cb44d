/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REWRITE_EDITS_H
#define KL_REWRITE_EDITS_H

#include "contract/surface.h"
#include "rewrite/envelope.h"

/*
 * edits - applies the edits of a reply to a surface, exactly as written or not at all. Only its
 * sources can be named: not the contract, not the oracle, nothing outside. Those of one file apply
 * in the order of the reply, each to what the ones before it left; a search must be found exactly
 * once, as whole lines.
 */

/**
 * The files that become different: `*edit` is the caller's (kl_edits_free). KL_EINVALID: a sentence
 * for who wrote the reply, as of an edit that changes nothing.
 */
int kl_edits_apply(struct kl_file **edit, size_t *n, const struct kl_surface *surface,
		   const struct kl_envelope *reply);

/** Is `path` a source of `surface`? KL_EINVALID says why not. */
int kl_edits_path(const struct kl_file **out, const struct kl_surface *surface, const char *path);

#endif
