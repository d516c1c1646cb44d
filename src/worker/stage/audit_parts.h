/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_STAGE_AUDIT_PARTS_H
#define KL_WORKER_STAGE_AUDIT_PARTS_H

#include "base/key.h"
#include "worker/pool/answer.h"
#include "worker/pool/pool.h"

/*
 * audit_parts - the audit of a contract, and the functions that its files share. A problem makes the
 * contract unfit to judge by; a note does not.
 */
struct kl_audit {
	const struct kl_job *job;
	struct kl_pool *pool;
	json_t *problems, *notes;
	struct kl_key redraw; /* other values of an input are drawn under it */
};

/** Append a sentence to a list of findings. */
void kl_audit_add(json_t *list, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/** Name of the rule that judges output `arg`; NULL: none does. */
const char *kl_audit_rule(const struct kl_job *job, size_t arg);
/**
 * Returns 1 if the rules accept this answer; 0 if not, with the first wrong element in *where, which
 * may be NULL; negative on error.
 */
int kl_audit_passes(const struct kl_audit *audit, const struct kl_member *member,
		    const struct kl_answer *answer, struct kl_mismatch *where);

/** Try answers that take no work: the rules must refuse each. */
int kl_audit_trivial(struct kl_audit *audit);
/** Draw other values for each input: the answer to them must be wrong for the first ones. */
int kl_audit_inputs(struct kl_audit *audit);
/** Round the inputs to a lower format: the answer to them must be wrong for the whole ones. */
int kl_audit_lower(struct kl_audit *audit);

#endif
