/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_GATE_VERDICT_H
#define KL_GATE_VERDICT_H

#include "gate/gate.h"

/*
 * verdict - a worker's result becomes a verdict and its event: one way, whether
 * the result comes straight from a worker of this machine or back with a file
 * that was judged elsewhere.
 */

/** What of the judged surface a result is read with; all borrowed. */
struct kl_verdict_of {
	const char *workload;
	const int64_t *weight;		/* of each performance case, in order */
	size_t nweight;
	const char *parent;		/* digest of what it was compared with; NULL: nothing */
};

void kl_verdict_set(struct kl_verdict *v, const char *verdict, const char *class_, const char *message);
/** Features and code of the compiled object, into the verdict and its event. */
void kl_verdict_facts(struct kl_verdict *v, const struct kl_facts *f);
/**
 * A result of the form that kl_runner_check asks for. Device and driver that it names
 * go into the event's platform.
 */
void kl_verdict_take(struct kl_verdict *v, const json_t *result, const struct kl_verdict_of *of);
/** From the event of an earlier run; takes it. */
void kl_verdict_recall(struct kl_verdict *v, json_t *event);

/** An array of strings. */
json_t *kl_verdict_words(const struct kl_strvec *v);

#endif
