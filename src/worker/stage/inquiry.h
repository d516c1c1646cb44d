/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_STAGE_INQUIRY_H
#define KL_WORKER_STAGE_INQUIRY_H

#include "base/key.h"
#include "worker/pool/answer.h"
#include "worker/pool/pool.h"
#include "worker/subject/subject.h"

/*
 * inquiry - calls the candidate in rounds and judges each answer. A round is a fresh child that is
 * called with members of the pool one after the other, under changing poison, until something is
 * wrong. Stage correct decides which rounds there are.
 *
 *	kl_inquiry_init(&q, job, pool, most);
 *	err = kl_inquiry_round(&q, &(struct kl_round){ .point = p, .member = order, .n = n, ... });
 *	q.class		NULL: no failure so far; otherwise its class, see q.failure and q.message
 *	kl_inquiry_release(&q);
 */

/* Answers kept for bitwise comparison with later ones. */
struct kl_kept {
	char *bytes[KL_MAX_ARGS]; /* NULL: nothing kept */
};
void kl_kept_release(struct kl_kept *kept);

struct kl_inquiry {
	const struct kl_job *job;
	struct kl_pool *pool;
	struct kl_key order, poison; /* keys of the orders of calls and of the poison */
	int64_t calls, elements;
	double margin;
	const char *class; /* class of the failure; NULL: none so far */
	json_t *failure;
	char message[600];
	bool *passed[2];         /* by guard side and member: answered correctly */
	struct kl_answer *right; /* for each member, one answer found right; empty if not kept */
	size_t right_bytes;
	int64_t *judged;              /* for each member, elements judged in it */
	const struct kl_member **met; /* members that the current child was called with before */
	size_t nmet;
	int64_t *cost; /* for each point: least ns of a call with its checks; 0: none yet */
	int64_t *made; /* for each point: calls made */
	int *asked;    /* for each member: calls made */
	/* the call that failed: its member and buffers, and the counts before it */
	struct kl_failed_call {
		size_t member;
		bool right;
		int64_t made;
		int asked;
	} failed;
};

/* The calls of one child. */
struct kl_round {
	const struct kl_point *point;
	bool right;           /* align the buffers to the guard page on their right */
	const size_t *member; /* indices into the pool, in order */
	size_t n;
	size_t watch;         /* member whose answers must be bitwise equal */
	struct kl_kept *kept; /* its answers with this guard side; NULL: do not compare */
	/**
	 * Called before each call with its index in `member`; true skips the call, given the cost
	 * of calls so far. NULL: skip none.
	 */
	bool (*leave)(const void *ctx, size_t i);
	const void *ctx;
	bool twins;        /* the inputs are twins */
	const char *where; /* prefix of failure messages: "" or "soak: " */
};

/** Initialize an inquiry; `most` is the largest number of calls of one round. */
void kl_inquiry_init(struct kl_inquiry *inquiry, const struct kl_job *job, struct kl_pool *pool,
		     size_t most);
void kl_inquiry_release(struct kl_inquiry *inquiry);

/** Run a round. Returns 0 whatever the kernel did, an error if it could not be called. */
int kl_inquiry_round(struct kl_inquiry *inquiry, const struct kl_round *round);

#endif
