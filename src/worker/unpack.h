/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_UNPACK_H
#define KL_WORKER_UNPACK_H

#include "base/sha256.h"
#include "text/json.h"

/*
 * unpack - unpacks a bundle into a directory (docs/formats.md, "Bundles and results"). It may have
 * come any way: every file is looked for under its own digest and nowhere else, jobs name nothing
 * but such files, and what the manifest says of all of them must be so. A bundle with anything
 * wrong is refused whole.
 */
struct kl_unpacked {
	json_t *jobs;               /* the manifest's entries, in order */
	char digest[KL_SHA256_HEX]; /* of the manifest */
};
void kl_unpacked_release(struct kl_unpacked *unpacked);

/** KL_EINVALID: it is damaged, or no bundle. `dir` must be there and empty. */
int kl_unpack(struct kl_unpacked *out, const void *bytes, size_t len, const char *dir);

/** The job of an entry, every path absolute below `dir`. */
int kl_unpack_job(json_t **job, const json_t *entry, const char *dir);

#endif
