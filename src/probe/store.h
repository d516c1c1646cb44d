/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_PROBE_STORE_H
#define KL_PROBE_STORE_H

#include "event/event.h"
#include "repo/repo.h"
#include "text/digest.h"

/*
 * store - keeps the events of probes, so that a probe that was stopped or killed judges no point
 * again.
 *
 * The events of a surface are the lines of $GIT_COMMON_DIR/klineage/probe/<surface>.jsonl, each
 * `{"event": ..., "key": ...}`. Lines are only appended. A line that a killed process left
 * incomplete, and any other line that is no event of this surface, is ignored. Several processes
 * can append at once. The file `seed` beside them has the seed of all inputs.
 */
struct kl_probe_store;

int kl_probe_store_open(struct kl_probe_store **out, struct kl_repo *repo);
void kl_probe_store_free(struct kl_probe_store *store);
KL_DEFINE_CLEANUP(struct kl_probe_store *, kl_probe_store_free)

/**
 * Return the seed from which the inputs of this clone's probes are drawn; the same in every run, so
 * that results of several runs can be compared.
 */
uint64_t kl_probe_store_seed(const struct kl_probe_store *store);
/**
 * Find the event of a surface with this key, a digest of everything that the event depends on.
 * *out is borrowed from the store. KL_ENOTFOUND: there is none.
 */
int kl_probe_store_find(const struct kl_event **out, struct kl_probe_store *store,
			const char *surface, const char *key);
/** Append an event. It is on disk when this returns. */
int kl_probe_store_put(struct kl_probe_store *store, const char *surface, const char *key,
		       const struct kl_event *event);

#endif
