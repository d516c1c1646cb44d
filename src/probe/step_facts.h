/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_PROBE_STEP_FACTS_H
#define KL_PROBE_STEP_FACTS_H

#include "probe/probing.h"

/*
 * step_facts - collects what a step changes besides the speed, as measured: the bits of the
 * answers, whether they are the same in every call, the answers to denormals, infinities and NaN,
 * and the resources that the compiled kernel needs. A user needs these facts for a contract with
 * `exact` and for another platform.
 */
/*
 * The resources that a state needs: the greatest values of all its kernels, but the sum of their
 * spills.
 */
struct kl_step_resources {
	bool there;
	bool spills; /* for a kernel in C: a vector register is stored and read again */
	bool device; /* true if the members about the device are known */
	int64_t registers, smem, spill_bytes, local_bytes;
};

/* Points on another platform that a probe of this clone has judged. */
struct kl_step_platform {
	char id[32];
	size_t points, fails; /* points where K_{i-1} passes and K_i was judged; failures of K_i */
	char class_[24];      /* class of one of the failures */
	char event[2]
		  [KL_DIGEST_HEX]; /* events of both states at one point, if possible a failure */
};
#define KL_STEP_PLATFORMS 8

struct kl_step_facts {
	size_t compared,
		same_bits; /* points where both states pass, and those with the same bits */
	/* the same of points with special values, and points where only K_i fails */
	struct {
		size_t compared, same, fails;
	} values[KL_PROBE_VALUES];
	struct {
		size_t points, same;
	} repeated
		[2]; /* points where K_{i-1} and K_i were judged twice, and those with the same bits */
	struct kl_step_resources resources[2]; /* of K_{i-1} and K_i */
	/* platforms other than that of the probe */
	struct kl_step_platform platform[KL_STEP_PLATFORMS];
	size_t nplatform;
};

/**
 * Collect the facts of the step from state i-1 to state i. `known` has an event for each of the two
 * states, or NULL; use its figures if the probe has none because there is no device.
 */
void kl_step_facts_make(struct kl_step_facts *out, const struct kl_probing *probe, size_t i,
			const struct kl_event *const known[2]);
/**
 * Add the stored results of both states on platforms other than that of the probe. Errors are those
 * of kl_probe_store_each().
 */
int kl_step_facts_platforms(struct kl_step_facts *facts, const struct kl_probing *probe, size_t i);
/** Append the facts as lines, without those that are not known. */
void kl_step_facts_lines(struct kl_strvec *out, const struct kl_step_facts *facts);
/** Return the facts as JSON; the caller owns it. */
json_t *kl_step_facts_json(const struct kl_step_facts *facts);

#endif
