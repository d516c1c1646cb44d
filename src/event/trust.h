/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_EVENT_TRUST_H
#define KL_EVENT_TRUST_H

#include "event/fold.h"
#include "event/signature.h"

/*
 * trust - decides which lines of notes count. Everyone who can push notes can write any event; its
 * id only proves that it was not changed. So a line
 *
 *	never counts	if its signature is bad; this is reported;
 *	always counts	if it is a correctness failure: a missing signature must not hide one;
 *	else counts	unless klineage.requireSigned is set: then it needs the signature of an
 *			allowed signer, or this clone must have reached it itself.
 *
 *	KL_AUTO(kl_trust_release) struct kl_trust t = { 0 };
 *	kl_trust_add(&t, tag, text, len, false);	a note's lines; the caller chooses `tag`
 *	kl_trust_judge(&t, repo);
 *	kl_trust_fold(&fold, &t, tag, surface, contract);	folds the lines that count
 */
struct kl_trust_line {
	size_t tag;
	struct kl_event *event; /* owned */
	bool own;               /* from this clone's cache; counts even with a bad signature */
	bool counts;            /* set by kl_trust_judge, as is `sig` */
	struct kl_signed sig;
};

struct kl_trust {
	struct kl_trust_line *v;
	size_t n, alloc;
	bool required; /* klineage.requireSigned; set by kl_trust_judge */
};

/** Add lines; those that are not events are ignored. */
void kl_trust_add(struct kl_trust *trust, size_t tag, const char *text, size_t len, bool own);
/** Add an event; takes the caller's reference. */
void kl_trust_add_event(struct kl_trust *trust, size_t tag, struct kl_event *event, bool own);
/** Check the signatures of all lines, and decide which lines count. */
int kl_trust_judge(struct kl_trust *trust, struct kl_repo *repo);
/** Fold the lines with this tag that count and are for this surface and contract (fold.h). */
void kl_trust_fold(struct kl_fold *out, const struct kl_trust *trust, size_t tag,
		   const char *surface, const char *contract);
/**
 * Append all events of a note except those with a bad signature, as canonical lines. For callers
 * that read facts from notes, which do not need signatures.
 */
int kl_trust_filter(struct kl_buf *out, struct kl_repo *repo, const char *text, size_t len);
void kl_trust_release(struct kl_trust *trust);

#endif
