/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_EVENT_TRUST_H
#define KL_EVENT_TRUST_H

#include "event/fold.h"
#include "event/signature.h"

/*
 * trust - which lines of notes count. Whoever may push notes may write any event; its id says only
 * that it was not changed since. So a line counts
 *
 *	never		if its signature is bad: it is reported, and not heard, whatever it says;
 *	always		if it says that a kernel failed: nobody is cleared by a missing signature;
 *	else		unless klineage.requireSigned is set: then a pass needs the signature of an
 *			allowed signer, or that this clone reached it itself.
 *
 *	KL_AUTO(kl_trust_release) struct kl_trust t = { 0 };
 *	kl_trust_add(&t, tag, text, len, false);	a note's lines, `tag` is the caller's
 *	kl_trust_judge(&t, repo);
 *	kl_trust_fold(&fold, &t, tag, surface, contract);	what counts, folded
 */
struct kl_trust_line {
	size_t tag;
	struct kl_event *event; /* owned */
	bool own;               /* of this clone's cache */
	bool counts;
	struct kl_signed sig; /* once judged */
};

struct kl_trust {
	struct kl_trust_line *v;
	size_t n, alloc;
	bool required; /* once judged: klineage.requireSigned */
};

/** Lines that are no events are left out. */
void kl_trust_add(struct kl_trust *trust, size_t tag, const char *text, size_t len, bool own);
/** Takes the reference. */
void kl_trust_add_event(struct kl_trust *trust, size_t tag, struct kl_event *event, bool own);
/** Look at the signatures of all that was added since, and decide. */
int kl_trust_judge(struct kl_trust *trust, struct kl_repo *repo);
/** Of those with the tag what counts, and is for these files (fold.h). */
void kl_trust_fold(struct kl_fold *out, const struct kl_trust *trust, size_t tag,
		   const char *surface, const char *contract);
/**
 * Of a note's text all events but those with a bad signature, canonical: for who reads facts from
 * notes, where a missing signature is no reason to know less.
 */
int kl_trust_filter(struct kl_buf *out, struct kl_repo *repo, const char *text, size_t len);
void kl_trust_release(struct kl_trust *trust);

#endif
