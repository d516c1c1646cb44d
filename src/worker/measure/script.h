/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_MEASURE_SCRIPT_H
#define KL_WORKER_MEASURE_SCRIPT_H

#include "base/rng.h"
#include "worker/pool/pool.h"
#include "worker/subject/trial.h"

/*
 * script - draws the calls of one process at a performance point. Stages correct and profile use the
 * same scripts, so that a kernel cannot tell the one from the other: in the profile some calls on
 * noise are measured, which only the parent knows, and their noise was drawn for this candidate
 * alone.
 *
 * A script has one or two calls on noise that may be measured, with buffers aligned to the left,
 * because other inputs and sides can take another time. Before, between and after them come members
 * of the pool; each is drawn once before any is drawn again. Addresses, sides and poison are drawn
 * for all calls alike.
 *
 * All subjects of a block of the profile follow the same scripts, so that no subject gains or loses
 * time by other calls than the others have. Only the calls of the tail, after the last measured
 * one, are made by the candidate alone.
 */
#define KL_SCRIPT_CALLS 16
#define KL_SCRIPT_MEASURED 2
/* If a call takes longer than this, one measured call of a script is enough. */
#define KL_SCRIPT_SLOW_NS ((int64_t)10000000)

struct kl_script_call {
	const struct kl_member *member;
	struct kl_trial trial;
	bool measured;
	bool tail; /* for the candidate only */
};

struct kl_script {
	struct kl_script_call call[KL_SCRIPT_CALLS];
	size_t n, measured;
	const struct kl_point *other; /* point of the call that is made elsewhere; NULL: none */
	bool pair[2]; /* a member and its twin are called in a row, in this order or the other */
};

/* What the calls are drawn from; the arrays belong to it, the members to their pools. */
struct kl_script_source {
	const struct kl_point *point;
	const struct kl_member *fresh[KL_SCRIPT_MEASURED]; /* noise that may be measured */
	const struct kl_member *noise[KL_POOL_DRAWS]; /* of the session's pool, like those below */
	size_t nnoise;
	const struct kl_member **known, **elsewhere; /* all at this point; those at others */
	size_t nknown, nelsewhere;
	size_t next; /* the next one of `known`, which are shuffled when all were drawn */
	const struct kl_member *pair[2]; /* a member and its twin; NULL: there is none */
};

/**
 * Fill the source for a point. `fresh` is a pool made for this candidate; NULL: noise of the
 * session's pool takes its place. KL_EINVALID: there is nothing to measure. Calls elsewhere are
 * drawn only from points that are not larger.
 */
int kl_script_source(struct kl_script_source *out, const struct kl_job *job,
		     const struct kl_pool *pool, const struct kl_pool *fresh,
		     const struct kl_point *pt);
void kl_script_source_release(struct kl_script_source *source);

enum kl_script_first {
	KL_SCRIPT_CHANCE, /* one script in eight begins at another point */
	KL_SCRIPT_NEVER,
	KL_SCRIPT_ELSEWHERE, /* this script does, if there is another point */
};
struct kl_script_wish {
	size_t measured; /* calls that may be measured, at most KL_SCRIPT_MEASURED */
	enum kl_script_first first;
	bool pair; /* the tail is a member and its twin, if there is one ... */
	bool turn; /* ... in this order */
};
/** Draw a script. */
void kl_script_draw(struct kl_script *out, struct kl_script_source *source, struct kl_rng *rng,
		    const struct kl_script_wish *wish);

#endif
