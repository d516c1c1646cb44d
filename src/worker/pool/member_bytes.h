/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_POOL_MEMBER_BYTES_H
#define KL_WORKER_POOL_MEMBER_BYTES_H

#include "worker/pool/member_file.h"
#include "worker/subject/subject.h"

/*
 * member_bytes - makes the bytes of a member: its inputs drawn, its answers asked of the oracles.
 */

/* The oracles at one point; `abs` has its own child, since scalars are absolute there too. */
struct kl_oracles {
	struct kl_subject *truth, *honest, *abs;
	struct kl_job abs_job;
};

int kl_oracles_start(struct kl_oracles *oracles, const struct kl_job *job,
		     const struct kl_point *pt);
void kl_oracles_release(struct kl_oracles *oracles);

/**
 * `base` is room for the member's file, zeroed; `seed` is the member's own.
 * KL_ECANNOT: an oracle does not answer, or not with numbers.
 */
int kl_poolmake(char *base, const struct kl_job *job, const struct kl_member *member, uint64_t seed,
		struct kl_oracles *oracles);
/**
 * The same for a twin of `other`, whose pointers are set. *made is false where no
 * change of the inputs that is a twin's makes the answers differ (twin.h).
 */
int kl_poolmake_twin(char *base, const struct kl_job *job, const struct kl_member *member,
		     const struct kl_member *original, uint64_t seed, struct kl_oracles *oracles,
		     bool *made);

#endif
