/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_STAGE_INQUIRY_H
#define KL_WORKER_STAGE_INQUIRY_H

#include "worker/pool/answer.h"
#include "worker/pool/pool.h"
#include "worker/subject/subject.h"

/*
 * inquiry - calls the candidate in rounds and judges each answer: a round is a fresh child that
 * gets members of the pool one after the other under changing poison, every answer judged, until
 * something is wrong. Which rounds there are is stage correct's matter.
 *
 *	kl_inquiry_init(&q, job, pool, most);
 *	err = kl_inquiry_round(&q, &(struct kl_round){ .point = p, .member = order, .n = n, ... });
 *	q.class		NULL: all was right so far; else why, with q.failure and q.message
 *	kl_inquiry_release(&q);
 */

/* Answers kept to be compared bit by bit with later ones. */
struct kl_kept {
	char *bytes[KL_MAX_ARGS]; /* NULL: nothing kept */
};
void kl_kept_release(struct kl_kept *kept);

struct kl_inquiry {
	const struct kl_job *job;
	struct kl_pool *pool;
	uint64_t seed; /* of poisons and orders */
	int64_t calls, elements;
	double margin;
	const char *class; /* of the failure; NULL: none so far */
	json_t *failure;
	char message[600];
	bool *passed[2];         /* per member of the pool: with this guard side */
	struct kl_answer *right; /* an answer that was found right; nothing: not kept */
	size_t right_bytes;
	int64_t *judged;              /* elements of it */
	const struct kl_member **met; /* what the present child was asked before */
	size_t nmet;
	int64_t *cost; /* per point: ns of a call and all with it; 0: none yet */
	int64_t *made; /* and how many were made */
};

/* What one child is to be asked. */
struct kl_round {
	const struct kl_point *point;
	bool right;           /* guard side */
	const size_t *member; /* indices into the pool, in order */
	size_t n;
	size_t watch;         /* this one's answers must have the same bits */
	struct kl_kept *kept; /* for this guard side; NULL: not compared */
	/**
	 * Asked before each call, by its place: is it left out, by what calls cost so far? NULL:
	 * none is.
	 */
	bool (*leave)(const void *ctx, size_t i);
	const void *ctx;
	bool twins;        /* two inputs that only a little tells apart */
	const char *where; /* "" or "soak: " */
};

/** `most`: calls of one round. */
void kl_inquiry_init(struct kl_inquiry *inquiry, const struct kl_job *job, struct kl_pool *pool,
		     size_t most);
void kl_inquiry_release(struct kl_inquiry *inquiry);

/** 0 whatever the kernel did; an error when it cannot be asked. */
int kl_inquiry_round(struct kl_inquiry *inquiry, const struct kl_round *round);

#endif
