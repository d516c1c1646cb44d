/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_HEADERS_H
#define KL_BACKEND_HEADERS_H

#include "base/map.h"
#include "base/vec.h"
#include "contract/contract.h"
#include "repo/repo.h"

/*
 * headers - header-only libraries (such as CUTLASS) that device code can include. The contract
 * names them (`surface.headers: [cutlass]`); each user configures their location
 * (klineage.cutlass.headers = <directory>), because a tracked file must not name a path outside its
 * repository.
 *
 * A verdict depends on the headers that the kernel was compiled with. Therefore a digest of all
 * files in the directory is appended to the compiler's version in the event and in the cache key.
 */
struct kl_headers {
	char *dir;       /* absolute, no symlinks */
	char digest[65]; /* SHA-256 of the paths and contents of all files in `dir` */
};

/**
 * Initialize a map from library names to struct kl_headers. The map owns its values. Each session
 * has one.
 */
void kl_headers_init(struct kl_map *known);

/**
 * Add the libraries `names` to `known`, except those that `known` already has. The settings are
 * read from `repo`; NULL if there are none. Return KL_ECANNOT if the setting of a library is
 * missing (a hint says how to set it), does not name a directory, or names a directory that is too
 * large.
 */
int kl_headers_find(struct kl_map *known, struct kl_repo *repo, const struct kl_strvec *names);

/**
 * Append "-isystem" and the directory of each library in `names`, which must be in `known`. If
 * `known` is NULL, append nothing.
 */
void kl_headers_flags(struct kl_strvec *argv, const struct kl_map *known,
		      const struct kl_strvec *names);

/**
 * List the paths that a jail must let the compiler read: `toolkit` (NULL if there is none) and the
 * directory of each library in `names` (none if `known` is NULL). The paths are borrowed; the list
 * is NULL-terminated.
 */
#define KL_HEADERS_READABLE (KL_HEADERS_MAX + 2)
void kl_headers_readable(const char *out[KL_HEADERS_READABLE], const char *toolkit,
			 const struct kl_map *known, const struct kl_strvec *names);

/**
 * For each library, append its name and the start of its digest (", cutlass 0123456789ab") to the
 * compiler's version `to`.
 */
void kl_headers_print(char *to, size_t size, const struct kl_map *known,
		      const struct kl_strvec *names);

#endif
