/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_STAGE_AUDIT_PARTS_H
#define KL_WORKER_STAGE_AUDIT_PARTS_H

#include "base/key.h"
#include "worker/pool/answer.h"
#include "worker/pool/pool.h"

/*
 * audit_parts - the state and the functions that the files of the contract audit share. If the
 * audit finds a problem, the contract cannot be used to judge kernels; a note only tells what was
 * not checked.
 */
struct kl_audit {
	const struct kl_job *job;
	struct kl_pool *pool;
	json_t *problems, *notes;
	struct kl_key redraw; /* key under which new values for an input are drawn */
};

/** Append a message to `list`, the problems or the notes. */
void kl_audit_add(json_t *list, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/** Return the name of the rule that judges output `arg`; NULL if no rule judges it. */
const char *kl_audit_rule(const struct kl_job *job, size_t arg);
/**
 * Return 1 if the rules accept the answer as an answer to `member`, 0 if not, or an error. If 0 is
 * returned and `where` is not NULL, *where has the first wrong element.
 */
int kl_audit_passes(const struct kl_audit *audit, const struct kl_member *member,
		    const struct kl_answer *answer, struct kl_mismatch *where);

/** Check that the rules refuse answers that take no work, such as zeros. */
int kl_audit_trivial(struct kl_audit *audit);
/**
 * Check that every input affects an output: if the values of one input are replaced, the right
 * answer must change so much that the rules notice.
 */
int kl_audit_inputs(struct kl_audit *audit);
/** Check that the rules refuse an answer computed from the inputs rounded to a lower format. */
int kl_audit_lower(struct kl_audit *audit);

#endif
