/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_EVENT_TRUST_H
#define KL_EVENT_TRUST_H

#include "base/map.h"
#include "event/belief.h"
#include "event/fold.h"

/*
 * trust - decides which lines of notes and segments count. Everyone who can push them can write any
 * event; an event's id only proves that the event was not changed. So a line
 *
 *	always counts	if this clone made it;
 *	else never	if its signature is bad; this is reported;
 *	always counts	if it is a correctness failure: a missing signature must not hide one;
 *	else counts	unless klineage.requireSigned is set: then it must be trusted (belief.h).
 *
 * The rule for retractions is stricter, since they can hide failures: a retraction counts only if
 * this clone made it, or if the same allowed signer signed both the retraction and the retracted
 * event.
 *
 *	KL_AUTO(kl_trust_release) struct kl_trust t = { 0 };
 *	kl_trust_add(&t, tag, text, len, false);	a note's lines; the caller chooses `tag`
 *	kl_trust_judge(&t, repo);
 *	kl_trust_fold(&fold, &t, tag, surface, contract);	folds the lines that count
 */
struct kl_trust_line {
	size_t tag;             /* chosen by the caller, to fold some of the lines */
	struct kl_event *event; /* owned */
	bool own;               /* made by this clone; counts even with a bad signature */
	bool counts;            /* set by kl_trust_judge, as are `word` and `sig` */
	enum kl_word_of word;
	struct kl_signed sig;
};

struct kl_trust {
	struct kl_trust_line *v;
	size_t n, alloc;
	bool required;           /* klineage.requireSigned; set by kl_trust_judge */
	struct kl_map retracted; /* ids of events that are retracted; set by kl_trust_judge */
	/*
	 * borrowed; if NULL, kl_trust_judge() opens a belief with the signers of klineage.signers
	 */
	struct kl_belief *belief;
};

/**
 * Add lines, ignoring lines that are not events. Set `own` if the lines are from this clone's
 * cache.
 */
void kl_trust_add(struct kl_trust *trust, size_t tag, const char *text, size_t len, bool own);
/** Add an event; takes the caller's reference. */
void kl_trust_add_event(struct kl_trust *trust, size_t tag, struct kl_event *event, bool own);
/**
 * Add the verdicts, checks and retractions for a surface and contract in all notes and segments of
 * the clone, the newest first.
 */
int kl_trust_add_surface(struct kl_trust *trust, struct kl_repo *repo, const char *surface,
			 const char *contract);
/** Like kl_trust_add_surface(), but of notes only. */
int kl_trust_add_notes(struct kl_trust *trust, struct kl_repo *repo, const char *surface,
		       const char *contract);
/** Check the signatures of all lines, and decide which lines count. */
int kl_trust_judge(struct kl_trust *trust, struct kl_repo *repo);
/** Return true if a retraction that counts retracts the event with this id. */
bool kl_trust_is_retracted(const struct kl_trust *trust, const char *id);
/**
 * Return true if the line is a retraction that does not count, and no other retraction of the same
 * event counts either. Return false if its signature is bad, which is reported separately.
 */
bool kl_trust_is_ineffective(const struct kl_trust *trust, const struct kl_trust_line *line);
/**
 * Return true if a line that counts and is not retracted outweighs this pass (fold.h). This is for
 * callers that choose a pass themselves instead of folding.
 */
bool kl_trust_is_outweighed(const struct kl_trust *trust, const struct kl_event *pass);
/** Fold the lines with this tag that count and are for this surface and contract (fold.h). */
void kl_trust_fold(struct kl_fold *out, const struct kl_trust *trust, size_t tag,
		   const char *surface, const char *contract);
/**
 * Append all events of a note as canonical lines, except retractions, retracted events and events
 * with a bad signature. This is for callers that read facts from notes, since facts count even if
 * their event is unsigned.
 */
int kl_trust_filter(struct kl_buf *out, struct kl_repo *repo, const char *text, size_t len);
void kl_trust_release(struct kl_trust *trust);

#endif
