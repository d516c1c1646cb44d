/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_EVENT_JUDGEMENT_H
#define KL_EVENT_JUDGEMENT_H

#include "event/event.h"

/*
 * judgement - the result of a gate session (gate/gate.h): an event, and how it was obtained. A
 * worker's result is converted in the same way if it comes from a worker on this machine or from a
 * bundle that was judged elsewhere.
 */
struct kl_judgement {
	struct kl_event *event; /* owned; sealed; commit, tree and sig are set with a note */
	bool cached;            /* nothing was run */
	/* if cached: the allowed signer of the verdict; NULL: it is this clone's own */
	char *voucher;
	/**
	 * The verdict is NOT_RUN because the job still has to be sent (kl_gate_send); facts are
	 * set.
	 */
	bool deferred;
};

/** New judgement; takes ownership of the event. */
struct kl_judgement *kl_judgement_new(struct kl_event *event);
void kl_judgement_free(struct kl_judgement *judged);
KL_DEFINE_CLEANUP(struct kl_judgement *, kl_judgement_free)

/** Data about the judged surface that is needed to read a result; all borrowed. */
struct kl_judgement_of {
	const char *workload;
	const int64_t *weight; /* one per performance case, in order */
	size_t nweight;
	const char *parent; /* digest of the surface that it was compared with; NULL: none */
};

/** Set the verdict; `class_` is the failure class or NULL, `message` the reason or NULL. */
void kl_judgement_set(struct kl_judgement *judged, enum kl_verdict verdict, const char *class_,
		      const char *message);
/** Copy features and code digest of the compiled object into the event. */
void kl_judgement_facts(struct kl_judgement *judged, const struct kl_facts *facts);
/**
 * Fill the event from a result that kl_runner_check() accepts. The result's device and driver are
 * copied into the event's platform.
 */
void kl_judgement_take(struct kl_judgement *judged, const json_t *result,
		       const struct kl_judgement_of *of);
/**
 * Length of the message without the command at its end, if any, that replays a failure. That
 * command is for people: it has the seed, which a model must not get.
 */
size_t kl_judgement_reason(const char *message);

#endif
