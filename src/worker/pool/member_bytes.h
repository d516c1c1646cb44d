/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_POOL_MEMBER_BYTES_H
#define KL_WORKER_POOL_MEMBER_BYTES_H

#include "base/key.h"
#include "worker/pool/member_file.h"
#include "worker/subject/subject.h"

/*
 * member_bytes - makes a member's bytes by drawing its inputs and running the oracles
 */

/*
 * The oracles at one point, each in a process of its own. `abs` computes the truth for the absolute
 * values of the inputs, for the rule `elementwise`; NULL if the job has no such rule. It cannot
 * share the process of `truth`, because its scalars are absolute values too.
 */
struct kl_oracles {
	struct kl_subject *truth, *honest, *abs;
	struct kl_job abs_job;
	/* lowest time in ns of a call of `honest` and of `truth`; 0 if there is no call yet */
	int64_t ns[2];
};

int kl_oracles_start(struct kl_oracles *oracles, const struct kl_job *job,
		     const struct kl_point *pt);
void kl_oracles_release(struct kl_oracles *oracles);

/**
 * Make a member's inputs and answers in `base`, zeroed memory of kl_poolfile.total bytes; `key` is
 * the key of this member. Return KL_ECANNOT if an oracle fails, or gives a non-finite answer to
 * finite inputs.
 */
int kl_poolmake(char *base, const struct kl_job *job, const struct kl_member *member,
		const struct kl_key *key, struct kl_oracles *oracles);
/**
 * Make a twin of `original` in `base` in the same way; the pointers of `original` must be set.
 * *made is false if none of the changes in twin.h makes the answers differ enough.
 */
int kl_poolmake_twin(char *base, const struct kl_job *job, const struct kl_member *member,
		     const struct kl_member *original, const struct kl_key *key,
		     struct kl_oracles *oracles, bool *made);

/**
 * Make a member of a further band (further.h) in `base` in the same way. *made is false if no
 * attempt gives inputs with which a kernel can be judged: the oracle fails or overflows, its answer
 * in float uses more than half of the tolerance, or the tolerance depends on too few elements.
 */
int kl_poolmake_further(char *base, const struct kl_job *job, const struct kl_member *member,
			const struct kl_key *key, struct kl_oracles *oracles, bool *made);

#endif
