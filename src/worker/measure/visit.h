/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_MEASURE_VISIT_H
#define KL_WORKER_MEASURE_VISIT_H

#include "base/rng.h"
#include "worker/compare/compare.h"
#include "worker/pool/pool.h"

/*
 * visit - makes a few timed calls of one subject in a fresh process. This is one visit of the
 * profile: the process gets a fresh copy of the subject's object and makes one call that is not
 * measured, then measured calls on inputs that this process has not seen. Every answer is checked,
 * including that of the unmeasured call.
 *
 * Cold: inputs are copied in and every buffer is evicted from the caches right before a call. Hot:
 * nothing is evicted, and each measured call follows an unmeasured one on the first input, so that
 * code, scratch memory and outputs are warm; the measured input itself is new, as it must be, and
 * comes from another processor's cache.
 *
 * A visit reports its shortest time: on a machine that also does other work, disturbances only make
 * a call longer. Therefore only visits that measure the same number of calls are comparable.
 *
 * A first call slower than KL_VISIT_SLOW_NS is taken as the measurement: the effect of a warm-up is
 * small compared with it.
 */
#define KL_VISIT_SLOW_NS ((int64_t)200000000)
#define KL_VISIT_MAX_INPUTS 32

struct kl_visit_plan {
	const struct kl_job *job;
	const struct kl_point *point;
	struct kl_subject_spec spec;
	const struct kl_member *const *input; /* at least 2, at most KL_VISIT_MAX_INPUTS */
	size_t ninput;
	size_t calls;                     /* calls to measure; less than ninput */
	struct kl_subject_memory *memory; /* shared by all subjects at this point; or NULL */
	struct kl_rng *order;             /* draws the order of inputs */
	struct kl_rng *poison;            /* draws the poison, under another key */
};

struct kl_visit {
	int64_t first_ns; /* time of the unmeasured call */
	int64_t least_ns; /* the shortest measured time, at least 1 */
	/* the shortest time by the parent's clock alone; compared with a physical floor */
	int64_t least_wall_ns;
	int measured, disturbed; /* measured calls; how many of them had to wait for a processor */
	int64_t handshake_ns;
	bool slow, traced;
	int calls; /* calls whose answers were checked */
	/* why the visit ended early; all is well if end is KL_CALL_OK and mismatch.out < 0 */
	struct kl_call call;
	struct kl_mismatch mismatch;
	/* if not NULL, the wrong answer is the right one for this earlier input */
	const struct kl_member *kept;
	const struct kl_member *at; /* input of the last call */
	/* members answered correctly, each once */
	const struct kl_member *met[KL_VISIT_MAX_INPUTS];
	size_t nmet;
};

/**
 * Run a visit. Returns 0 whatever the kernel did, or an error if the subject could not be started.
 */
int kl_visit(struct kl_visit *out, const struct kl_visit_plan *plan);
bool kl_visit_ok(const struct kl_visit *visit);

#endif
