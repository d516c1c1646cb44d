/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_EVENT_JUDGEMENT_H
#define KL_EVENT_JUDGEMENT_H

#include "event/event.h"

/*
 * judgement - the answer of a session of the gate (gate/gate.h): an event, and how it came about. A
 * worker's result becomes one the same way whether it comes straight from a worker of this machine
 * or back with a file that was judged elsewhere.
 */
struct kl_judgement {
	struct kl_event *event; /* sealed; commit, tree and sig come with a note */
	bool cached;            /* nothing was run */
	/* cached: the allowed signer who says so; NULL: this clone */
	char *voucher;
	/** NOT_RUN, as the job waits to be sent away (kl_gate_send); the facts are known. */
	bool deferred;
};

/** Takes the event. */
struct kl_judgement *kl_judgement_new(struct kl_event *event);
void kl_judgement_free(struct kl_judgement *judged);
KL_DEFINE_CLEANUP(struct kl_judgement *, kl_judgement_free)

/** What of the judged surface a result is read with; all borrowed. */
struct kl_judgement_of {
	const char *workload;
	const int64_t *weight; /* of each performance case, in order */
	size_t nweight;
	const char *parent; /* digest of what it was compared with; NULL: nothing */
};

/** `class_` is the gate's word for a failure, or NULL; `message`, for a person, may be NULL. */
void kl_judgement_set(struct kl_judgement *judged, enum kl_verdict verdict, const char *class_,
		      const char *message);
/** Features and code of the compiled object. */
void kl_judgement_facts(struct kl_judgement *judged, const struct kl_facts *facts);
/**
 * A result of the form that kl_runner_check asks for. Device and driver that it names
 * go into the event's platform.
 */
void kl_judgement_take(struct kl_judgement *judged, const json_t *result,
		       const struct kl_judgement_of *of);

#endif
