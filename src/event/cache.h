/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_EVENT_CACHE_H
#define KL_EVENT_CACHE_H

#include "event/event.h"
#include "event/runner_device.h"
#include "repo/repo.h"

/*
 * cache - stores the verdicts that this clone reached, keyed by everything they depend on.
 *
 * An entry is one event in the file $GIT_COMMON_DIR/klineage/cache/<digest of surface and
 * contract>/<digest of the key>.json, so all entries for a surface and contract are in one
 * directory. Verdicts of other clones are never stored here, so a hit is as reliable as a run and
 * can replace one. Results of jobs that this clone sent to a runner count as its own verdicts.
 * Entries are validated when they are read; damaged ones are ignored.
 */
struct kl_cache_key {
	const char *surface, *contract; /* digests */
	const struct kl_platform *platform;
	/**
	 * Name of the runner, which replaces platform->device in the key; NULL if the kernel is
	 * judged on this machine.
	 */
	const char *runner;
	/* device that the runner reported last; NULL if unknown */
	const struct kl_runner_device *runner_device;
	const struct kl_strvec *flags;
	enum kl_tier tier;
	const char *parent; /* digest of the parent's surface; NULL if not compared with a parent */
	bool profile;
	bool quick; /* quick stages only: events of kind "check" */
};

/**
 * Read the entry for exactly this key. The caller owns `*event`. Return KL_ENOTFOUND if there is
 * none.
 */
int kl_cache_get(struct kl_event **event, struct kl_repo *repo, const struct kl_cache_key *key);
/**
 * Find the best entry for the key's surface and contract that kl_cache_same_place() accepts; the
 * entry's parent and stages can differ from the key's. Prefers a correctness failure, then a result
 * of the whole gate, then the newest. The caller owns `*event`. Return KL_ENOTFOUND if there is
 * none.
 */
int kl_cache_find(struct kl_event **event, struct kl_repo *repo, const struct kl_cache_key *key);
/**
 * Return true if the event has the key's platform, device, compiler, flags and tier, and the
 * present policy.
 */
bool kl_cache_same_place(const struct kl_event *event, const struct kl_cache_key *key);
/** Store an event. It is on disk when this returns. */
int kl_cache_put(struct kl_repo *repo, const struct kl_cache_key *key,
		 const struct kl_event *event);

/**
 * Compute the digest of a key without `runner_device`, which kl_runner_device_key() adds.
 * kl_cache_get_at() and kl_cache_put_at() read and store an entry by this digest, for verdicts that
 * arrive later from a runner.
 */
void kl_cache_key_hex(char hex[KL_DIGEST_HEX], const struct kl_cache_key *key);
int kl_cache_get_at(struct kl_event **event, struct kl_repo *repo, const char *surface,
		    const char *contract, const char *hex);
int kl_cache_put_at(struct kl_repo *repo, const char *hex, const struct kl_event *event);

/**
 * Find an event by its id or a prefix of its id. Return KL_ENOTFOUND if no event matches, or
 * several do.
 */
int kl_cache_find_id(struct kl_event **event, struct kl_repo *repo, const char *prefix);
/** Remove the entries that contain this event, and set `*n` to how many were removed. */
int kl_cache_drop(size_t *n, struct kl_repo *repo, const struct kl_event *event);

/** Append all events for a surface and contract, on any platform, as JSON lines. */
int kl_cache_list(struct kl_buf *lines, struct kl_repo *repo, const char *surface,
		  const char *contract);

#endif
