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
 * The oracles at one point. `abs` has a child of its own, since there the scalars are absolute
 * values too.
 */
struct kl_oracles {
	struct kl_subject *truth, *honest, *abs;
	struct kl_job abs_job;
	int64_t ns[2]; /* least time of a call in float, and in double; 0: none yet */
};

int kl_oracles_start(struct kl_oracles *oracles, const struct kl_job *job,
		     const struct kl_point *pt);
void kl_oracles_release(struct kl_oracles *oracles);

/**
 * Make a member's inputs and answers in `base`, zeroed memory of its file's size; `key` is the
 * member's own. KL_ECANNOT: an oracle fails, or its answer is not finite.
 */
int kl_poolmake(char *base, const struct kl_job *job, const struct kl_member *member,
		const struct kl_key *key, struct kl_oracles *oracles);
/**
 * The same for a twin of `original`, whose pointers must be set. *made is false if no change of the
 * inputs that a twin may have makes the answers differ (twin.h).
 */
int kl_poolmake_twin(char *base, const struct kl_job *job, const struct kl_member *member,
		     const struct kl_member *original, const struct kl_key *key,
		     struct kl_oracles *oracles, bool *made);

/**
 * The same for a member of a further band (further.h). *made is false if no attempt gives inputs by
 * which a kernel can be judged: the oracle fails on them or overflows, its answer in float does not
 * pass the rules with room to spare, or too few elements decide the tolerance.
 */
int kl_poolmake_further(char *base, const struct kl_job *job, const struct kl_member *member,
			const struct kl_key *key, struct kl_oracles *oracles, bool *made);

#endif
