/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_UNPACK_H
#define KL_WORKER_UNPACK_H

#include "base/sha256.h"
#include "text/json.h"

/*
 * unpack - unpacks a bundle into a directory and verifies it. The format is in docs/formats.md,
 * "Bundles and results". A bundle is untrusted: every file must match the digest in its name, jobs
 * may refer only to files of the bundle, and the manifest must list exactly these files. A bundle
 * with any error is refused as a whole.
 */
struct kl_unpacked {
	json_t *jobs;               /* entries of jobs in the manifest, in order */
	char digest[KL_SHA256_HEX]; /* SHA-256 of the manifest */
};
void kl_unpacked_release(struct kl_unpacked *unpacked);

/**
 * Unpack into `dir`, which must be an empty directory. Return KL_EINVALID if the bytes are damaged
 * or not a bundle.
 */
int kl_unpack(struct kl_unpacked *out, const void *bytes, size_t len, const char *dir);

/**
 * Read the job of `entry`, an entry of kl_unpacked.jobs, and put `dir` before the paths in the job.
 * The caller releases *job with json_decref().
 */
int kl_unpack_job(json_t **job, const json_t *entry, const char *dir);

#endif
