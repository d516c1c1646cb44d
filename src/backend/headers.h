/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_HEADERS_H
#define KL_BACKEND_HEADERS_H

#include "base/map.h"
#include "base/vec.h"
#include "contract/contract.h"
#include "repo/repo.h"

/*
 * headers - header-only libraries (CUTLASS and its CuTe) that device code can include. The
 * contract names them (`surface.headers: [cutlass]`); each user configures their location
 * (klineage.cutlass.headers = <directory>), because a tracked file must not name a path outside its
 * repository.
 *
 * A verdict depends on the headers that the kernel was compiled with. So a digest of all files of
 * the directory is appended to the compiler's version, in the event and in the key of the cache.
 */
struct kl_headers {
	char *dir;       /* absolute, no symlinks */
	char digest[65]; /* SHA-256 of paths and contents */
};

/** Initialize a map from names to struct kl_headers, which it owns. There is one per session. */
void kl_headers_init(struct kl_map *known);

/**
 * Add the libraries `names` to `known`, unless they are there. KL_ECANNOT: the setting of one is
 * missing (a hint says how to set it), names no directory, or names an absurdly large one. `repo`
 * has the settings; NULL: none are found.
 */
int kl_headers_find(struct kl_map *known, struct kl_repo *repo, const struct kl_strvec *names);

/**
 * Append "-isystem" and the directory of each library, which must be in `known`. If `known` is
 * NULL, here and in kl_headers_readable(), there are none.
 */
void kl_headers_flags(struct kl_strvec *argv, const struct kl_map *known,
		      const struct kl_strvec *names);

/**
 * The paths that a jail must let the compiler read: `toolkit` (NULL: none) and the directories,
 * borrowed and NULL-terminated.
 */
#define KL_HEADERS_READABLE (KL_HEADERS_MAX + 2)
void kl_headers_readable(const char *out[KL_HEADERS_READABLE], const char *toolkit,
			 const struct kl_map *known, const struct kl_strvec *names);

/** Append ", cutlass 0123456789ab" for each library to the compiler's version `to`. */
void kl_headers_print(char *to, size_t size, const struct kl_map *known,
		      const struct kl_strvec *names);

#endif
