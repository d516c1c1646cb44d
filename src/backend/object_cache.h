/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_OBJECT_CACHE_H
#define KL_BACKEND_OBJECT_CACHE_H

#include "repo/repo.h"
#include "text/digest.h"

/*
 * object_cache - keeps objects that this clone compiled, so that later candidates and sessions can
 * use them: oracles in both arithmetics, shipped baselines, the runtime that kernels are linked
 * with, and the library that records lookups. An entry is the file
 * $GIT_COMMON_DIR/klineage/cache/objects/<xx>/<rest of the key>: a line with the key and the
 * SHA-256 of the object, then the object (docs/formats.md, "Cache").
 *
 * The key is a digest of everything that the object depends on. Only objects compiled by this clone
 * are stored. An entry that is damaged, owned by another user or writable by others is ignored.
 *
 *	kl_objects_get(repo, hex, path) ? compile(path), kl_objects_put(repo, hex, path) : 0
 */

/**
 * Start a key with the kind of object (`what`, such as "runtime"), the gate's policy and this
 * program's version. The caller adds everything else that the object depends on, and ends the
 * digest.
 */
struct kl_digest *kl_objects_key(const char *what);

/**
 * Copy the object with key `hex` to the file `path`. Return KL_ENOTFOUND (no message set) if it is
 * not cached.
 */
int kl_objects_get(struct kl_repo *repo, const char hex[KL_DIGEST_HEX], const char *path);
/**
 * Store the file `path` as the object with key `hex`. Failures (such as a full disk) are ignored,
 * because the object can be compiled again.
 */
void kl_objects_put(struct kl_repo *repo, const char hex[KL_DIGEST_HEX], const char *path);

#endif
