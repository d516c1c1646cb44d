/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_POOL_H
#define KL_WORKER_POOL_H

#include "worker/job.h"
#include "worker/subject.h"

/*
 * pool - inputs with precomputed answers, in files of job->pool, so that the
 * oracle runs once per operation however many candidates are judged.
 * A member is one (point, band, seed): the bytes of every input, and for every output
 * the truth (double) and the honest answer (float). Only the
 * worker's parent process ever maps a pool.
 */
struct kl_member {
	const struct kl_point *point;
	char band[32];			/* "noise", "exact0", "band1", "scale-up", "scale-down" */
	bool exact;			/* answers must be bit-equal */
	uint64_t seed;
	const void *input[KL_JOB_MAX_ARGS];	/* in the kernel's dtype; NULL if not in/inout */
	const void *truth[KL_JOB_MAX_ARGS];	/* outputs: double per element for floats, the dtype for integers */
	const void *honest[KL_JOB_MAX_ARGS];	/* outputs: float per element for floats, NULL otherwise */
	const void *absum[KL_JOB_MAX_ARGS];	/* elementwise rule: double, oracle on |inputs|; else NULL */
};

struct kl_pool;
/** Open or build. KL_ECANNOT: the oracle faults, hangs, or is not finite where it must be; message says. */
int kl_pool_open(struct kl_pool **out, const struct kl_job *job);
void kl_pool_free(struct kl_pool *p);
KL_DEFINE_CLEANUP(struct kl_pool *, kl_pool_free)
size_t kl_pool_size(const struct kl_pool *p);
const struct kl_member *kl_pool_get(const struct kl_pool *p, size_t i);
/** The noise-band members of a point, for profiling: at least 3 for a perf point. */
size_t kl_pool_noise(const struct kl_pool *p, const struct kl_point *pt, const struct kl_member **out, size_t max);

/* compare.h's result, here since every caller of pool needs it */
struct kl_mismatch {
	int out;			/* argument index; -1: none, it matched */
	int64_t index[KL_JOB_MAX_AXES];
	size_t naxes;
	char got[40], wanted[40];
	char why[120];
	double margin;			/* worst error / allowed error; <= 1 passes */
	int64_t bad, elements;		/* wrong elements (where the rule counts them), elements checked */
	bool edge_only;			/* every bad element lies on a border of its tensor or the point is not the case */
};
/** Judge outputs against a member: `got[arg]` in the kernel's dtype. 0 and m->out = -1 when it passes; KL_ENO and the first bad place otherwise. */
int kl_compare(struct kl_mismatch *m, const struct kl_job *job, const struct kl_member *w,
	       const void *const *got);

#endif
