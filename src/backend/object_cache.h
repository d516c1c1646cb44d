/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_OBJECT_CACHE_H
#define KL_BACKEND_OBJECT_CACHE_H

#include "repo/repo.h"
#include "text/digest.h"

/*
 * object_cache - objects that this clone compiled, kept for other candidates and sessions: oracles
 * in both arithmetics, the runtime of kernels. $GIT_COMMON_DIR/klineage/cache/objects/<xx>/<rest of
 * the key>: a line with the key and the SHA-256 of what follows, and the object
 * (docs/formats.md, "Cache").
 *
 * The key is a digest of all that the object depends on. Nothing that came from elsewhere is ever
 * put here. An entry that is damaged, another's than the user's, or open to others for writing is
 * no entry.
 *
 *	kl_objects_get(repo, hex, path) ? compile(path), kl_objects_put(repo, hex, path) : 0
 */

/** Begin a key: what the object is, the gate's rules and this program's version. */
struct kl_digest *kl_objects_key(const char *what);

/** Copy it to `path`. KL_ENOTFOUND (no message set): it is not there. */
int kl_objects_get(struct kl_repo *repo, const char hex[KL_DIGEST_HEX], const char *path);
/** Keep the file `path`. What hinders it (a full disk) is no error: it will be compiled again. */
void kl_objects_put(struct kl_repo *repo, const char hex[KL_DIGEST_HEX], const char *path);

#endif
