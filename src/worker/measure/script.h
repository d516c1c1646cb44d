/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_MEASURE_SCRIPT_H
#define KL_WORKER_MEASURE_SCRIPT_H

#include "base/rng.h"
#include "worker/pool/pool.h"
#include "worker/subject/trial.h"

/*
 * script - draws the calls of one process at a performance point. Stages correct and profile draw
 * scripts in the same way, so that a kernel cannot tell the stages apart: in the profile, some
 * calls on noise are measured, but only the parent process knows which, and their noise was drawn
 * for this candidate alone.
 *
 * A script has one or two calls on noise that may be measured. Their buffers are aligned to the
 * left, because calls on inputs other than noise, or with buffers aligned to the right, can take
 * longer. Members of the pool are called before, between and after these calls; each member is
 * drawn once before any is drawn again. Addresses, guard sides and poison of the calls on these
 * members are random.
 *
 * In the profile, all subjects of a block follow the same scripts, so that none gains or loses time
 * because its calls differ. Only the calls of the tail, which follow the last measured call, are
 * made by the candidate alone.
 */
#define KL_SCRIPT_CALLS 16
#define KL_SCRIPT_MEASURED 2
/* If a call takes longer than this, one measured call of a script is enough. */
#define KL_SCRIPT_SLOW_NS ((int64_t)10000000)

struct kl_script_call {
	const struct kl_member *member;
	struct kl_trial trial;
	bool measured;
	bool tail; /* part of the tail: only for the candidate */
};

struct kl_script {
	struct kl_script_call call[KL_SCRIPT_CALLS];
	size_t n, measured; /* number of calls, and of measured calls */
	/* point of the first call if it is not the script's point, or NULL */
	const struct kl_point *other;
	/* successive calls have [0]: a member, then its twin; [1]: the twin, then the member */
	bool pair[2];
};

/*
 * The members from which calls are drawn. The arrays are owned; the members belong to their pools.
 */
struct kl_script_source {
	const struct kl_point *point;
	const struct kl_member
		*fresh[KL_SCRIPT_MEASURED]; /* noise for calls that may be measured */
	/* all members below are from the session's pool */
	const struct kl_member *noise[KL_POOL_DRAWS]; /* noise at this point */
	size_t nnoise;
	/* known: all members at this point; elsewhere: those at other points that are not larger */
	const struct kl_member **known, **elsewhere;
	size_t nknown, nelsewhere;
	size_t next; /* index of the next member of `known`; at the end, `known` is shuffled */
	const struct kl_member *pair[2]; /* a member and its twin; NULL if there is no twin */
};

/**
 * Fill the source for a point. `fresh` is a pool made for this candidate; NULL to take the noise
 * for calls that may be measured from the session's pool. Return KL_EINVALID if there are fewer
 * than KL_SCRIPT_MEASURED noise members for them, or none for other calls.
 */
int kl_script_source(struct kl_script_source *out, const struct kl_job *job,
		     const struct kl_pool *pool, const struct kl_pool *fresh,
		     const struct kl_point *pt);
void kl_script_source_release(struct kl_script_source *source);

enum kl_script_first {
	KL_SCRIPT_CHANCE, /* begin at another point with a probability of 1/8 */
	KL_SCRIPT_NEVER,
	KL_SCRIPT_ELSEWHERE, /* begin at another point, if there is one that is not larger */
};
struct kl_script_wish {
	size_t measured; /* number of calls that may be measured; at most KL_SCRIPT_MEASURED */
	enum kl_script_first first;
	bool pair; /* the tail must be calls with a member and its twin, if there is a twin */
	bool turn; /* in this tail, call the twin before the member */
};
/** Draw a script. */
void kl_script_draw(struct kl_script *out, struct kl_script_source *source, struct kl_rng *rng,
		    const struct kl_script_wish *wish);

#endif
