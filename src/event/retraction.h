/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_EVENT_RETRACTION_H
#define KL_EVENT_RETRACTION_H

#include "event/belief.h"
#include "repo/repo.h"

/*
 * retraction - withdraws an event of the gate, such as a fail that the machine caused. The event
 * stays in its notes and segments, and an event of kind "retract" is added to each note and
 * campaign. The retraction counts for this clone, and, if the same signer signed it and the
 * retracted event, for all clones that trust this signer (trust.h). Copies of the event in this
 * clone's cache are removed.
 */
struct kl_retraction_opts {
	/* id of the event, or a prefix of at least KL_RETRACTION_PREFIX digits */
	const char *event;
	const char *reason; /* for people; NULL if there is none */
	/* 1 to fail if the retraction cannot be signed, 0 to sign if possible, -1 not to sign */
	int sign;
};
#define KL_RETRACTION_PREFIX 7

struct kl_retraction {
	struct kl_event *event; /* the retracted event */
	struct kl_word word;    /* maker of the event */
	/* NULL if only the cache had the event, or it was retracted before */
	struct kl_event *retraction;
	struct kl_word own; /* maker of the retraction; `own.sig` has its signer */
	/* numbers of notes and campaigns changed, and of cache entries removed */
	size_t notes, campaigns, cached;
	char *unsigned_; /* why the retraction is unsigned; NULL if it is signed */
};

/**
 * Retract an event. Return KL_ENOTFOUND if no event in notes, segments or the cache has the prefix,
 * or several have it. Return KL_EINVALID if the event is itself a retraction. Return KL_EEXISTS if
 * the event was retracted before, and is not in the cache. Return KL_ECANNOT if `sign` is 1, and
 * there is no key.
 */
int kl_retract(struct kl_retraction *out, struct kl_repo *repo,
	       const struct kl_retraction_opts *opts);
void kl_retraction_release(struct kl_retraction *retraction);

/** Return true if other clones that trust the retraction's signer apply the retraction. */
bool kl_retraction_is_followed(const struct kl_retraction *retraction);

#endif
