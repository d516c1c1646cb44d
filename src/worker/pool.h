/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_POOL_H
#define KL_WORKER_POOL_H

#include "worker/job.h"
#include "worker/subject.h"

/*
 * pool - inputs with precomputed answers, in files of job->pool, so that the
 * oracle runs once per operation however many candidates are judged.
 *
 * A member is one (point, band, draw): the bytes of every input, and for every
 * output the truth (the oracle in double) and the honest answer (the oracle in
 * float). Which members there are follows from job and seed: at every
 * point the noise band, each exact band and each of `bands`; at a performance
 * point three noise draws and, if any argument is swept, all swept arguments
 * scaled up by 2^6 and down by 2^-10; at performance points and small others the
 * twin of the first noise draw (twin.h), if it can have one.
 *
 * All bytes derive from one seed, drawn from the operating system or given by
 * job->seed: who gives a logged seed back gets the same members. A second
 * process of the same operation opens the files as they are; a pool made from
 * other oracle objects, another job or another seed is made anew.
 *
 * The files hold the truth: mode 0600 in a directory of 0700, and only the
 * worker's parent process ever maps them.
 */
#define KL_POOL_DRAWS 3	/* noise members of a performance point */
#define KL_POOL_TWIN "twin"	/* the band of a twin */

/*
 * yard - what a rule measures its groups against, one for each rule of the
 * job: over each group the largest and the root-mean-square honest error
 * (noise), or the norm of the truth as `rms` times sqrt(n) (rel-l2).
 */
struct kl_yard {
	size_t ngroup;		/* 0: the rule has no groups */
	double *max, *rms;
};

struct kl_member {
	const struct kl_point *point;
	char band[32];		/* "noise", "twin", "exact0", "band1", "scale-up", ... */
	int draw;		/* which of several members of that band */
	bool exact;		/* answers must be bit-equal */
	uint64_t seed;		/* the pool's: job->seed of a replay */
	const void *input[KL_JOB_MAX_ARGS];	/* in the kernel's dtype; NULL if not in/inout */
	const void *truth[KL_JOB_MAX_ARGS];	/* outputs: double for floats, the dtype for integers */
	const void *honest[KL_JOB_MAX_ARGS];	/* outputs: float for floats, NULL for integers */
	const void *absum[KL_JOB_MAX_ARGS];	/* rule elementwise: double, oracle on |inputs|; or NULL */
	const struct kl_yard *yard;		/* job->nrule; NULL: kl_compare makes its own */
};

struct kl_pool;
/**
 * Open or build; the pool borrows `job`. KL_ECANNOT: the oracle faults, hangs,
 * or is not finite where it must be; the message says.
 */
int kl_pool_open(struct kl_pool **out, const struct kl_job *job);
void kl_pool_free(struct kl_pool *p);
KL_DEFINE_CLEANUP(struct kl_pool *, kl_pool_free)
size_t kl_pool_size(const struct kl_pool *p);
const struct kl_member *kl_pool_get(const struct kl_pool *p, size_t i);
/** The noise-band members of a point, for profiling: at least 3 for a perf point. */
size_t kl_pool_noise(const struct kl_pool *p, const struct kl_point *pt,
		     const struct kl_member **out, size_t max);
/** The twin of the point's first noise member; NULL: it has none. */
const struct kl_member *kl_pool_twin(const struct kl_pool *p, const struct kl_point *pt);
uint64_t kl_pool_seed(const struct kl_pool *p);

/* compare.h's result, here since every caller of pool needs it */
struct kl_mismatch {
	int out;			/* argument index; -1: none, it matched */
	int64_t index[KL_JOB_MAX_AXES];
	size_t naxes;
	char got[40], wanted[40];
	char why[120];
	double margin;			/* worst error / allowed error; <= 1 passes */
	int64_t bad, elements;		/* wrong elements, elements checked */
	bool edge_only;			/* all bad ones on a border, or no perf point */
};
/**
 * Judge outputs against a member: `got[arg]` in the kernel's dtype. 0 and m->out = -1
 * when it passes; KL_ENO (no message set) and the first bad place otherwise;
 * KL_EINVALID: the job's rule does not fit its tensors.
 */
int kl_compare(struct kl_mismatch *m, const struct kl_job *job, const struct kl_member *w,
	       const void *const *got);

#endif
