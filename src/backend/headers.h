/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_BACKEND_HEADERS_H
#define KL_BACKEND_HEADERS_H

#include "base/map.h"
#include "base/vec.h"
#include "contract/contract.h"
#include "repo/repo.h"

/*
 * headers - header-only libraries (CUTLASS and its CuTe) that device code may include. The
 * contract names them (`surface.headers: [cutlass]`); where they lie is each user's to say
 * (klineage.cutlass.headers = <directory>), for a tracked file names no path outside its
 * repository.
 *
 * What a kernel is compiled with is part of its verdict: the digest of every file of the directory
 * stands beside the compiler's version, in the event and in the key of the cache.
 */
struct kl_headers {
	char *dir;       /* absolute, no symlinks */
	char digest[65]; /* of paths and contents */
};

/** Names to struct kl_headers, found once a session. */
void kl_headers_init(struct kl_map *known);

/**
 * All that `names` names. KL_ECANNOT: one is not set, no directory, or absurdly large; the message
 * says what to set. `repo` NULL: none can be found.
 */
int kl_headers_find(struct kl_map *known, struct kl_repo *repo, const struct kl_strvec *names);

/** "-isystem" and a directory for each; they must be known. `known` NULL, here and below: none. */
void kl_headers_flags(struct kl_strvec *argv, const struct kl_map *known,
		      const struct kl_strvec *names);

/**
 * What a jail lets the compiler read: `toolkit` (NULL: none) and the directories, NULL at the end.
 */
#define KL_HEADERS_READABLE (KL_HEADERS_MAX + 2)
void kl_headers_readable(const char *out[KL_HEADERS_READABLE], const char *toolkit,
			 const struct kl_map *known, const struct kl_strvec *names);

/** ", cutlass 0123456789ab" for each, behind the compiler's version. */
void kl_headers_print(char *to, size_t size, const struct kl_map *known,
		      const struct kl_strvec *names);

#endif
