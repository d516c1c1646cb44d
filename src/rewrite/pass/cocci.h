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

/** Check a semantic patch. KL_EINVALID "<name>:<line>: ...": it contains a forbidden construct. */
int kl_cocci_audit(const char *name, const char *text, size_t len);

/**
 * Apply `patch` to one C source. If it does not match, or if spatch cannot parse the source, `out`
 * is unchanged and *changed is false. KL_EINVALID: the patch is malformed or forbidden (the message
 * quotes spatch); KL_ECANNOT: spatch is not installed; KL_ETIMEOUT.
 */
int kl_cocci_run(struct kl_buf *out, bool *changed, const struct kl_jail *jail, const char *name,
		 const char *patch, size_t patch_len, const char *source, size_t len);

#endif
