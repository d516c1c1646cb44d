/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REVIEW_CONTRACT_DIFF_PARTS_H
#define KL_REVIEW_CONTRACT_DIFF_PARTS_H

#include "review/contract_diff.h"

/* contract_diff_parts - shared by the files of the contract diff. For use inside src/review only. */
struct kl_contract_pair {
	struct kl_findings *out;
	const struct kl_contract *old, *now;
};

#define ANSWER(p, ...) kl_findings_add((p)->out, KL_ANSWER, __VA_ARGS__)
#define NOTE(p, ...) kl_findings_add((p)->out, KL_NOTE, __VA_ARGS__)

/** Compare the operators, cases, further points and domains of two contracts. */
void kl_contract_diff_points(struct kl_contract_pair *pair);

#endif
