/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_MEASURE_VISIT_H
#define KL_WORKER_MEASURE_VISIT_H

#include "base/rng.h"
#include "worker/compare/compare.h"
#include "worker/pool/pool.h"

/*
 * visit - one visit of the profile, a few timed calls: one fresh process of one subject with a
 * fresh copy of its object, one call that is not measured, then measured calls on inputs that this
 * process has not seen. Every answer is checked, the unmeasured one's as well.
 *
 * Cold: inputs are copied in and every buffer evicted from the caches right
 * before a call. Hot: nothing is evicted, and each measured call follows an
 * unmeasured one on the first input, so that code, scratch and outputs are
 * warm; the measured input itself is new, as it must be, and comes from another
 * processor's cache.
 *
 * What counts is the shortest time: on a machine that does other work as
 * well, all errors are in one direction. So only visits that measure equally many
 * calls may be compared.
 *
 * A first call slower than KL_VISIT_SLOW_NS is taken as the measurement: what
 * a warm-up would change is small against it.
 */
#define KL_VISIT_SLOW_NS ((int64_t)200000000)
#define KL_VISIT_MAX_INPUTS 32

struct kl_visit_plan {
	const struct kl_job *job;
	const struct kl_point *point;
	struct kl_subject_spec spec;
	const struct kl_member *const *input; /* at least 2, at most KL_VISIT_MAX_INPUTS */
	size_t ninput;
	size_t calls;                     /* to measure, below ninput */
	struct kl_subject_memory *memory; /* of all subjects at this point; or NULL */
	struct kl_rng *rng;               /* order of inputs, poison */
};

struct kl_visit {
	int64_t first_ns; /* of the call that is not measured */
	int64_t least_ns; /* the shortest of the measured times, at least 1 */
	/* by the parent's clock alone: what a floor is held against */
	int64_t least_wall_ns;
	int measured, disturbed; /* calls; those of them that had to wait for a processor */
	int64_t handshake_ns;
	bool slow, traced;
	int calls; /* checked */
	/* why it ended early; all is well while end is KL_CALL_OK and mismatch.out < 0 */
	struct kl_call call;
	struct kl_mismatch mismatch;
	/* not NULL: the wrong answer is the one to this earlier input */
	const struct kl_member *kept;
	const struct kl_member *at;                       /* the input of the last call */
	const struct kl_member *met[KL_VISIT_MAX_INPUTS]; /* those that passed, each once */
	size_t nmet;
};

/** 0 whatever the kernel did; an error when the subject could not be started. */
int kl_visit(struct kl_visit *out, const struct kl_visit_plan *plan);
bool kl_visit_ok(const struct kl_visit *visit);

#endif
