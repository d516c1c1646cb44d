/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_STAGE_INQUIRY_H
#define KL_WORKER_STAGE_INQUIRY_H

#include "base/key.h"
#include "worker/measure/judge.h"
#include "worker/measure/redraw.h"
#include "worker/pool/pool.h"
#include "worker/subject/subject.h"

/*
 * inquiry - calls the candidate in rounds and judges each answer. In a round, a fresh child is
 * called with members of the pool one after the other, at changing addresses and with changing
 * poison, until something is wrong. Stage correct decides which rounds to run.
 *
 * If the job promises determinism, the same input on the same side must give the same bits in all
 * rounds.
 *
 *	kl_inquiry_init(&q, job, pool);
 *	err = kl_inquiry_round(&q, &(struct kl_round){ .point = p, .member = order, .n = n, ... });
 *	q.class		NULL: no failure so far; otherwise its class, see q.failure and q.message
 *	kl_inquiry_release(&q);
 */

struct kl_inquiry {
	const struct kl_job *job;
	struct kl_pool *pool;
	struct kl_key order, poison; /* keys for the order of calls; for poison and addresses */
	int cpu;                     /* processor of the children, as in the profile; -1 for any */
	int64_t calls, elements;     /* judged calls, and elements compared in them */
	double margin;               /* highest margin of a call (compare.h) */
	const char *class;           /* class of the failure; NULL if there is none so far */
	/* if nothing failed: the reason why the calls prove too little; "" if there is no doubt */
	char doubt[240];
	json_t *failure;   /* the failure as in the result; NULL if there is none so far */
	char message[900]; /* the failure in words */
	/* passed[right][member] is true if the member was answered correctly on this guard side */
	bool *passed[2];
	struct kl_judge judge;
	/* how wrong answers are redrawn; not redrawn until `stage` is set */
	struct kl_redraw redraw;
	struct kl_subject_memory memory; /* used by one child after the other */
	const struct kl_member **met; /* members that the current child was already called with */
	size_t nmet, met_alloc;
	/*
	 * point at which one process is called only after a call at a performance point; NULL if
	 * there is none
	 */
	const struct kl_point *after_perf;
	/*
	 * for each point: lowest ns of a call together with its checks (kernels in C: processor
	 * time); 0 if there is no call yet
	 */
	int64_t *cost;
	/* for each point, kernels in C: lowest processor ns of a call; 0 if unknown */
	int64_t *used;
	int64_t *made; /* for each point: calls made */
	/* for each point: highest ns of a call without its checks; 0 if there is no call yet */
	int64_t *ns;
	int *asked;             /* for each member: calls made */
	struct kl_failed_call { /* the call that failed */
		size_t member;
		bool right;
		const struct kl_point *after; /* point of kl_round.before; NULL if there is none */
	} failed;
};

/* The calls of one child. */
struct kl_round {
	const struct kl_point *point;
	const size_t *member; /* indices into the pool, in order */
	size_t n;
	bool right; /* align the buffers to the guard page on their right */
	/* guard side of each call; if NULL, as always for cuda, `right` applies to all calls */
	const bool *side;
	/*
	 * pool index of a member at another point, to call first; NULL if there is none, as always
	 * for cuda
	 */
	const size_t *before;
	/**
	 * Return true to skip the call of member[i]. Called just before each call, so that the cost
	 * of the calls so far is known. NULL to skip none.
	 */
	bool (*leave)(const void *ctx, size_t i);
	const void *ctx;
	bool twins;        /* the members include an input and its twin */
	bool ordinary;     /* nothing is cleaned between the calls (ordinary_calls.h) */
	bool unjudged;     /* do not judge the answers or count the calls */
	const char *where; /* prefix of failure messages, such as "soak: "; or "" */
};

void kl_inquiry_init(struct kl_inquiry *inquiry, const struct kl_job *job, struct kl_pool *pool);
void kl_inquiry_release(struct kl_inquiry *inquiry);

/** Run a round. Return 0 whatever the kernel did, or an error if it could not be called. */
int kl_inquiry_round(struct kl_inquiry *inquiry, const struct kl_round *round);
/** Return true if the member with this pool index was answered correctly on either guard side. */
bool kl_inquiry_passed(const struct kl_inquiry *inquiry, size_t member);

#endif
