/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REWRITE_COCCI_H
#define KL_REWRITE_COCCI_H

#include "base/buf.h"
#include "jail/jail.h"

/*
 * cocci - runs semantic patches by Coccinelle's spatch in the compile jail.
 *
 * A semantic patch can contain programs (script, initialize and finalize rules, script constraints)
 * and can include other files (#include, using, #spatch options). Such a patch is rejected without
 * running it. To be safe, the search for these constructs is coarse: it also looks into comments.
 */

/**
 * Check a semantic patch. Return KL_EINVALID if it contains a forbidden construct; the message is
 * "<name>:<line>: ...".
 */
int kl_cocci_audit(const char *name, const char *text, size_t len);

/**
 * Apply `patch` to one C source. If it does not match, or if spatch cannot parse the source, `out`
 * is unchanged and *changed is false. Return KL_EINVALID if the patch is malformed or forbidden;
 * the message quotes spatch. Return KL_ECANNOT if spatch is not installed. Return KL_ETIMEOUT if
 * spatch takes too long.
 */
int kl_cocci_run(struct kl_buf *out, bool *changed, const struct kl_jail *jail, const char *name,
		 const char *patch, size_t patch_len, const char *source, size_t len);

#endif
