/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_MEASURE_SCRIPT_H
#define KL_WORKER_MEASURE_SCRIPT_H

#include "base/rng.h"
#include "worker/pool/pool.h"
#include "worker/subject/trial.h"

/*
 * script - draws the calls of one process in which a kernel is timed. Few of them are measured, and
 * the kernel cannot tell which: the others are on every kind of input that the checked processes
 * get, now and then at another point first, or on an input and its twin. Addresses, sides and poison
 * are drawn for all calls alike.
 *
 * Measured calls are on noise drawn for this candidate alone, with buffers aligned to the left,
 * because other inputs and sides can take another time.
 *
 * All subjects of a block follow the same scripts, so that what one of them costs in time it costs
 * all: only the calls of the tail, behind the last measured one, are made by the candidate alone.
 */
#define KL_SCRIPT_CALLS 16
#define KL_SCRIPT_MEASURED 2

struct kl_script_call {
	const struct kl_member *member;
	struct kl_trial trial;
	bool measured;
	bool tail; /* for the candidate only */
};

struct kl_script {
	struct kl_script_call call[KL_SCRIPT_CALLS];
	size_t n, measured;
	const struct kl_point *other; /* point of a call that is not at the timed one; NULL: none */
};

/* What the calls are drawn from; the arrays belong to it, the members to their pools. */
struct kl_script_source {
	const struct kl_point *point;
	const struct kl_member *fresh[KL_SCRIPT_MEASURED]; /* drawn for this candidate */
	const struct kl_member *noise[KL_POOL_DRAWS]; /* of the session's pool, like those below */
	size_t nnoise;
	const struct kl_member **known, **elsewhere; /* all at this point; those at others */
	size_t nknown, nelsewhere;
	const struct kl_member *pair[2]; /* a member and its twin; NULL: there is none */
};

/**
 * Fill the source for a point. KL_EINVALID: there is nothing to measure. Only points that are not
 * larger come first at times.
 */
int kl_script_source(struct kl_script_source *out, const struct kl_job *job,
		     const struct kl_pool *pool, const struct kl_pool *fresh,
		     const struct kl_point *pt);
void kl_script_source_release(struct kl_script_source *source);

/** Draw a script with `measured` measured calls, at most KL_SCRIPT_MEASURED. */
void kl_script_draw(struct kl_script *out, const struct kl_script_source *source,
		    struct kl_rng *rng, size_t measured);

#endif
