/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REWRITE_FEEDBACK_H
#define KL_REWRITE_FEEDBACK_H

#include "event/event.h"

/*
 * feedback - describes the gate's findings on a refused candidate to a model.
 *
 * The description has the class, the message (such as a compiler's), the first wrong element with
 * its actual and expected value, facts that were lost and gained, and the time. A candidate can
 * influence these texts, so they are in one fenced block of at most KL_FEEDBACK_MAX bytes.
 */
#define KL_FEEDBACK_MAX 6144

struct kl_feedback {
	const char *class_;           /* class of the rejection; NULL if nothing was refused */
	const struct kl_event *event; /* event of the candidate; NULL if it was not judged */
	/** Features (NULL if unknown) and ns (0 if unknown) of the state that was edited. */
	const struct kl_strvec *before;
	int64_t ns;
	const struct kl_event *goal; /* for a re-derivation: the event of K_i; otherwise NULL */
	bool forward;        /* the edit was meant to add an optimization, not to remove it */
	const char *missing; /* the features that the edit failed to add; NULL if there are none */
};

/** Append the description as a fenced block. */
void kl_feedback_write(struct kl_buf *out, const struct kl_feedback *feedback);

/**
 * Append a sentence or two that explain how to repair a failure of this class. For an unknown
 * class, append nothing.
 */
void kl_feedback_explain(struct kl_buf *out, const struct kl_feedback *feedback);
/**
 * Return a class as it is written into the keys of requests: "wrong" for every class "wrong-*",
 * since random inputs decide which of these a candidate gets; any other class unchanged.
 */
const char *kl_feedback_key(const char *class_);
/** Check whether a candidate of this class is worth a repair. */
bool kl_feedback_repairs(const char *class_);

#endif
