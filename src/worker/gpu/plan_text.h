/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_GPU_PLAN_TEXT_H
#define KL_WORKER_GPU_PLAN_TEXT_H

#include "job/job.h"
#include "worker/gpu/bind.h"

/*
 * plan_text - writes a plan as JSON for the GPU process, which parses and resolves it.
 *
 * The GPU process resolves the plan for the device that it has opened. The document is
 *
 *	{"plan": the plan's document, "dims": [names], "at": [values], "args": [...]}
 *
 * with one entry in `args` per contract argument: null if a plan cannot refer to it, {"tensor":
 * name}, or {"scalar": name, "dtype": "f32", "bits": the double's bits}.
 */

/**
 * Make the document; the caller owns it. Scalars have the contract's types, even for an oracle,
 * which has kl_real only in tensors.
 */
json_t *kl_gpu_doc_make(const struct kl_job *job, const struct kl_point *pt,
			const struct kl_plan *plan);
/**
 * Parse the document and resolve its plan. `*plan` must live until a binding has been made from
 * `*at`. Also return KL_EINVALID if a `require` of the plan does not hold. Return KL_ECANNOT if the
 * device lacks something that the plan needs.
 */
int kl_gpu_doc_resolve(struct kl_plan_at **at, struct kl_plan **plan, const char *text, size_t n,
		       const struct kl_gpu_set *set, const struct kl_gpu_facts *facts);

#endif
