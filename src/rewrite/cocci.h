/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REWRITE_COCCI_H
#define KL_REWRITE_COCCI_H

#include "base/buf.h"
#include "jail/jail.h"

/*
 * cocci - semantic patches, run by Coccinelle's spatch in the compile jail.
 *
 * A semantic patch can carry programs (script, initialize, finalize rules,
 * script constraints) and can pull in others (#include, using, #spatch
 * options): one that does is refused unread. The search for these is
 * deliberately coarse and also sees comments.
 */

/** KL_EINVALID "<name>:<line>: ..." if the patch may not run. */
int kl_cocci_audit(const char *name, const char *text, size_t len);

/**
 * Apply `patch` to one C source. `out` is untouched and `*changed` false when it
 * does not match, or when spatch cannot parse the source. KL_EINVALID: the patch itself
 * is malformed (spatch's words are quoted); KL_ECANNOT: no spatch here; KL_ETIMEOUT.
 */
int kl_cocci_run(struct kl_buf *out, bool *changed, const struct kl_jail *jail, const char *name,
		 const char *patch, size_t patch_len, const char *source, size_t len);

#endif
