/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_EVENT_JUDGEMENT_H
#define KL_EVENT_JUDGEMENT_H

#include "event/facts.h"
#include "text/json.h"

/*
 * judgement - turns a worker's result into a verdict and its event: one way, whether the result
 * comes straight from a worker of this machine or back with a file that was judged elsewhere.
 */

struct kl_judgement {
	json_t *event;			/* without commit, tree, by, sig; id set */
	char verdict[16];		/* pass, fail, inconclusive, not-run */
	char class_[24];		/* "" or a class of failure (docs/formats.md, "The gate event") */
	struct kl_facts facts;		/* features empty if it did not compile */
	int64_t ns;			/* the first case's time, 0: not profiled */
	/** Why, for a person: first bad index, seed, got, wanted; "" on a pass. */
	char *message;
	bool cached;			/* nothing was run */
	char *voucher;			/* cached: the allowed signer who says so; NULL: this clone */
	/** "not-run" since the job waits to be sent away (kl_gate_send); the facts are known. */
	bool deferred;
};
void kl_judgement_free(struct kl_judgement *v);
KL_DEFINE_CLEANUP(struct kl_judgement *, kl_judgement_free)

/** What of the judged surface a result is read with; all borrowed. */
struct kl_judgement_of {
	const char *workload;
	const int64_t *weight;		/* of each performance case, in order */
	size_t nweight;
	const char *parent;		/* digest of what it was compared with; NULL: nothing */
};

void kl_judgement_set(struct kl_judgement *v, const char *verdict, const char *class_,
		      const char *message);
/** Features and code of the compiled object, into the verdict and its event. */
void kl_judgement_facts(struct kl_judgement *v, const struct kl_facts *f);
/**
 * A result of the form that kl_runner_check asks for. Device and driver that it names
 * go into the event's platform.
 */
void kl_judgement_take(struct kl_judgement *v, const json_t *result,
		       const struct kl_judgement_of *of);
/** From the event of an earlier run; takes it. */
void kl_judgement_recall(struct kl_judgement *v, json_t *event);

/** An array of strings. */
json_t *kl_judgement_words(const struct kl_strvec *v);

#endif
