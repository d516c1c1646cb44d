/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REWRITE_FEEDBACK_H
#define KL_REWRITE_FEEDBACK_H

#include "event/event.h"

/*
 * feedback - what the gate saw of a refused candidate, for whoever is to repair it: class,
 * message (a compiler's, too), the first wrong element with what was there and what was
 * wanted, facts that went and came, time. One fenced block of at most KL_FEEDBACK_MAX bytes: what
 * a candidate made the gate say is data like the rest.
 */
#define KL_FEEDBACK_MAX 6144

struct kl_feedback {
	const char *class_;           /* of the rejection; NULL: nothing was refused */
	const struct kl_event *event; /* NULL: it was not judged */
	/** Of the state it was made from: features (NULL: not known) and time (0: none). */
	const struct kl_strvec *before;
	int64_t ns;
	const struct kl_event *goal; /* of a re-derivation: the event of K_i; else NULL */
	bool forward;                /* the edit was to put something in, not to take it out */
	const char *missing;         /* what it was to put in and did not; or NULL */
};

void kl_feedback_write(struct kl_buf *out, const struct kl_feedback *feedback);

/** What its class means for who is to repair it: a sentence or two; nothing for an unknown one. */
void kl_feedback_explain(struct kl_buf *out, const struct kl_feedback *feedback);
/**
 * The class as it stands in a request's key: whether all or a part is wrong depends on inputs
 * drawn.
 */
const char *kl_feedback_key(const char *class_);
/** Is it worth a repair, or is the idea to be left? */
bool kl_feedback_repairs(const char *class_);

#endif
