/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_EVENT_OWN_H
#define KL_EVENT_OWN_H

#include <stdint.h>

#include "repo/repo.h"

/*
 * own - the ids of the events that this clone made, retractions included.
 *
 * They are lines of 64 hex digits in $GIT_COMMON_DIR/klineage/made, to which lines are only added.
 * An id identifies the content, so a copy from elsewhere with the same id is what this clone made. Ids
 * from elsewhere are never added.
 */
struct kl_own {
	uint8_t (*digest)[32]; /* sorted */
	size_t n;
};

/** Read the digests; none if the file does not exist. Lines of another form are skipped. */
int kl_own_load(struct kl_own *out, struct kl_repo *repo);
bool kl_own_has(const struct kl_own *own, const char *hex);
void kl_own_release(struct kl_own *own);

/** Add digests; they are on disk when this returns. */
int kl_own_add(struct kl_repo *repo, const char *const *hex, size_t n);
int kl_own_add_one(struct kl_repo *repo, const char *hex);

#endif
