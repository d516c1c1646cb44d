/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REWRITE_FEEDBACK_H
#define KL_REWRITE_FEEDBACK_H

#include "event/event.h"

/*
 * feedback - describes to a model what the gate found in a refused candidate.
 *
 * The description has the class, the message (such as a compiler's), the first wrong element with
 * its actual and expected value, facts that were lost and gained, and the time. It is one fenced
 * block of at most KL_FEEDBACK_MAX bytes, because a candidate can influence these texts.
 */
#define KL_FEEDBACK_MAX 6144

struct kl_feedback {
	const char *class_;           /* class of the rejection; NULL: nothing was refused */
	const struct kl_event *event; /* NULL: it was not judged */
	/** Features (NULL: unknown) and time (0: unknown) of the state it was made from. */
	const struct kl_strvec *before;
	int64_t ns;
	const struct kl_event *goal; /* re-derivation: the event of K_i; else NULL */
	bool forward;                /* the edit was meant to add something, not to remove it */
	const char *missing;         /* what it failed to add, or NULL */
};

/** Append the fenced block. */
void kl_feedback_write(struct kl_buf *out, const struct kl_feedback *feedback);

/** Append a sentence or two on what the class means for a repair; nothing if it is unknown. */
void kl_feedback_explain(struct kl_buf *out, const struct kl_feedback *feedback);
/**
 * The class for a request's key. All "wrong-*" classes become "wrong", since which of them it is
 * depends on random inputs.
 */
const char *kl_feedback_key(const char *class_);
/** True if a candidate of this class is worth a repair. */
bool kl_feedback_repairs(const char *class_);

#endif
