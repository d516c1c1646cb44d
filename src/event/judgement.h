/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_EVENT_JUDGEMENT_H
#define KL_EVENT_JUDGEMENT_H

#include "event/event.h"

/*
 * judgement - the result of a gate session (gate/gate.h): an event, and how it was obtained. A
 * worker's result becomes an event in the same way whether the worker ran on this machine or judged
 * a bundle elsewhere.
 */
struct kl_judgement {
	/* owned and sealed; its commit, tree and sig are set when it is written as a note */
	struct kl_event *event;
	bool cached; /* the verdict was reached earlier; nothing was run */
	/* if `cached`: the allowed signer who signed the verdict; NULL if this clone reached it */
	char *voucher;
	/**
	 * The verdict is NOT_RUN because the job still has to be sent (kl_gate_send). The event's
	 * facts are set.
	 */
	bool deferred;
};

/** Make a judgement; takes ownership of the event. */
struct kl_judgement *kl_judgement_new(struct kl_event *event);
void kl_judgement_free(struct kl_judgement *judged);
KL_DEFINE_CLEANUP(struct kl_judgement *, kl_judgement_free)

/** Data about the judged surface that is needed to read a result; all borrowed. */
struct kl_judgement_of {
	const char *workload;
	const int64_t *weight; /* one per performance case, in order */
	size_t nweight;
	const char *parent; /* digest of the parent's surface; NULL if not compared with a parent */
};

/** Set the verdict; `class_` is the failure class or NULL, `message` the reason or NULL. */
void kl_judgement_set(struct kl_judgement *judged, enum kl_verdict verdict, const char *class_,
		      const char *message);
/** Copy the features and the code digest of the artefact into the event. */
void kl_judgement_facts(struct kl_judgement *judged, const struct kl_facts *facts);
/** Add sentences about the artefact to the event's notes. */
void kl_judgement_notes(struct kl_judgement *judged, const struct kl_strvec *notes);
/**
 * Fill the event from a result that kl_runner_check() accepts. The result's device and driver are
 * copied into the event's platform.
 */
void kl_judgement_take(struct kl_judgement *judged, const json_t *result,
		       const struct kl_judgement_of *of);
/**
 * Return the length of a message up to the command that replays a failure, or of the whole message
 * if it has no such command. The command is for people: it contains the seed, which a model must
 * not get.
 */
size_t kl_judgement_reason(const char *message);

#endif
