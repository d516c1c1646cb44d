/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_EVENT_RETRACTION_H
#define KL_EVENT_RETRACTION_H

#include "event/belief.h"
#include "repo/repo.h"

/*
 * retraction - withdraws an event of the gate, such as a fail that the machine caused. The event
 * stays in its notes; an event of kind "retract" is added to each of them, and trust.h decides for
 * whom it counts: for this clone, and for those who trust its signer, if the same one signed the
 * retracted event. Verdicts in the cache of this clone are removed.
 */
struct kl_retraction_opts {
	const char *event;  /* its id, or a prefix of at least KL_RETRACTION_PREFIX digits */
	const char *reason; /* for people; NULL: none */
	int sign;           /* 1: fail if it cannot be signed; 0: sign if possible; -1: do not */
};
#define KL_RETRACTION_PREFIX 7

struct kl_retraction {
	struct kl_event *event;      /* the retracted one */
	struct kl_word word;         /* who made it */
	struct kl_event *retraction; /* NULL: the event was in no note, or retracted before */
	struct kl_word own;          /* of the retraction: `own.sig` tells who signed it */
	size_t notes, cached;        /* notes that got the retraction; cache entries removed */
	char *unsigned_;             /* why it is unsigned; NULL: it is signed */
};

/**
 * Retract an event. KL_ENOTFOUND: neither a note nor the cache has it, or several begin with the
 * prefix. KL_EINVALID: it is a retraction itself. KL_EEXISTS: a retraction that counts here has
 * retracted it already. KL_ECANNOT: `sign` is 1, and there is no key.
 */
int kl_retract(struct kl_retraction *out, struct kl_repo *repo,
	       const struct kl_retraction_opts *opts);
void kl_retraction_release(struct kl_retraction *retraction);

/** True if clones that trust its signer apply the retraction, too. */
bool kl_retraction_is_followed(const struct kl_retraction *retraction);

#endif
