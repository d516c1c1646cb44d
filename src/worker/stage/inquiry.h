/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_STAGE_INQUIRY_H
#define KL_WORKER_STAGE_INQUIRY_H

#include "base/key.h"
#include "worker/measure/judge.h"
#include "worker/pool/pool.h"
#include "worker/subject/subject.h"

/*
 * inquiry - calls the candidate in rounds and judges each answer. A round is a fresh child that is
 * called with members of the pool one after the other, at changing addresses and under changing
 * poison, until something is wrong. Stage correct decides which rounds there are.
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
	struct kl_key order, poison; /* keys of the orders of calls, and of poison and addresses */
	int cpu;                     /* processor of the children, that of timed ones; -1: any */
	int64_t calls, elements;
	double margin;
	const char *class; /* class of the failure; NULL: none so far */
	char doubt[240];   /* if no failure: why the calls prove too little; empty: they do not */
	json_t *failure;
	char message[900];
	bool *passed[2]; /* by guard side and member: answered correctly */
	struct kl_judge judge;
	struct kl_subject_memory memory; /* of one child after the other */
	const struct kl_member **met;    /* members that the current child was called with before */
	size_t nmet, met_alloc;
	/* the point where a call at a performance point comes first in one process; NULL: none */
	const struct kl_point *after_perf;
	/*
	 * for each point: least ns of a call with its checks, for kernels in C of processor time;
	 * 0: none yet
	 */
	int64_t *cost;
	int64_t *used; /* for each point, kernels in C: least processor time of a call; 0: none */
	int64_t *made; /* for each point: calls made */
	int64_t *ns;   /* for each point: the longest time of a call itself; 0: none yet */
	int *asked;    /* for each member: calls made */
	struct kl_failed_call { /* the call that failed */
		size_t member;
		bool right;
		bool first;                   /* no call came before it in its process */
		const struct kl_point *after; /* point of an earlier call; NULL: none */
	} failed;
};

/* The calls of one child. */
struct kl_round {
	const struct kl_point *point;
	const size_t *member; /* indices into the pool, in order */
	size_t n;
	bool right;       /* align the buffers to the guard page on their right */
	const bool *side; /* the same for each call; NULL: `right` for all. Not for cuda */
	/* a member at another point, to be called first; NULL: none. Not for cuda */
	const size_t *before;
	/**
	 * Called before each call with its index in `member`; true skips the call, given the cost
	 * of calls so far. NULL: skip none.
	 */
	bool (*leave)(const void *ctx, size_t i);
	const void *ctx;
	bool twins;        /* the inputs are twins */
	bool ordinary;     /* nothing is cleaned between the calls (ordinary_calls.h) */
	bool unjudged;     /* the answers are not looked at, and the calls do not count */
	const char *where; /* prefix of failure messages: "" or "soak: " */
};

void kl_inquiry_init(struct kl_inquiry *inquiry, const struct kl_job *job, struct kl_pool *pool);
void kl_inquiry_release(struct kl_inquiry *inquiry);

/** Run a round. Returns 0 whatever the kernel did, an error if it could not be called. */
int kl_inquiry_round(struct kl_inquiry *inquiry, const struct kl_round *round);
/** True if a member, by its index, was answered correctly on either side. */
bool kl_inquiry_passed(const struct kl_inquiry *inquiry, size_t member);

#endif
