/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_EVENT_CACHE_H
#define KL_EVENT_CACHE_H

#include "event/event.h"
#include "event/runner_device.h"
#include "repo/repo.h"

/*
 * cache - verdicts that this clone reached itself, kept by all they depend on:
 * $GIT_COMMON_DIR/klineage/cache/<digest of surface and contract>/<digest of the key>.json, one
 * event each, so that all that is known of some files lies together. Nothing that came from
 * elsewhere is ever put here, so a hit spares a run. Results that come back for a job which this
 * clone sent away are its own, too. Entries are checked when they are read; a damaged one is no
 * entry.
 */
struct kl_cache_key {
	const char *surface, *contract; /* digests */
	const struct kl_platform *platform;
	/**
	 * Set where the platform's own device did not judge: the runner's name stands in its place
	 * ...
	 */
	const char *runner;
	const struct kl_runner_device
		*runner_device; /* ... with the device that it told of last; NULL: none */
	const struct kl_strvec *flags;
	enum kl_tier tier;
	const char *parent; /* digest of what it is compared with, NULL: none */
	bool profile;
	bool quick; /* the quick stages alone: events of kind "check" */
};

/** KL_ENOTFOUND: not judged here before. */
int kl_cache_get(struct kl_event **event, struct kl_repo *repo, const struct kl_cache_key *key);
/**
 * The same, content with any verdict on these files that was reached at this place (platform,
 * flags, tier, policy): whatever it was compared with and however far the stages went. A
 * correctness fail comes first, then what the whole gate said, then the newest.
 */
int kl_cache_find(struct kl_event **event, struct kl_repo *repo, const struct kl_cache_key *key);
/** Was it reached at the key's place: platform, device, compiler, flags, tier, policy? */
bool kl_cache_same_place(const struct kl_event *event, const struct kl_cache_key *key);
/** Durable when it returns. */
int kl_cache_put(struct kl_repo *repo, const struct kl_cache_key *key,
		 const struct kl_event *event);

/**
 * The key as a digest, but for the device that a runner tells of (event/runner_device.h), and the
 * entry of an event
 * below one: for a verdict that comes back later.
 */
void kl_cache_key_hex(char hex[KL_DIGEST_HEX], const struct kl_cache_key *key);
int kl_cache_get_at(struct kl_event **event, struct kl_repo *repo, const char *surface,
		    const char *contract, const char *hex);
int kl_cache_put_at(struct kl_repo *repo, const char *hex, const struct kl_event *event);

/** All events on these files, as JSON lines, wherever they were reached; "" if there are none. */
int kl_cache_list(struct kl_buf *lines, struct kl_repo *repo, const char *surface,
		  const char *contract);

#endif
