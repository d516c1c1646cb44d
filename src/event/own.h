/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_EVENT_OWN_H
#define KL_EVENT_OWN_H

#include <stdint.h>

#include "repo/repo.h"

/*
 * own - records the ids of the events that this clone made, retractions included.
 *
 * The file $GIT_COMMON_DIR/klineage/made has one id of 64 hex digits in each line, and lines are
 * only added. An id identifies the content, so an event from elsewhere with the same id is a copy
 * of an event that this clone made. Ids of other events are never added.
 */
struct kl_own {
	const char *text; /* the file, mapped; NULL if there is none */
	size_t len;
	unsigned searches;
	uint8_t (*digest)[32]; /* sorted; NULL if not needed yet, as few searches read the file */
	size_t n;
};

/** Open the file. A file that does not exist has no ids; lines of another form are skipped. */
int kl_own_load(struct kl_own *out, struct kl_repo *repo);
bool kl_own_has(struct kl_own *own, const char *hex);
void kl_own_release(struct kl_own *own);

/** Add ids; they are on disk when this returns. */
int kl_own_add(struct kl_repo *repo, const char *const *hex, size_t n);
int kl_own_add_one(struct kl_repo *repo, const char *hex);

#endif
