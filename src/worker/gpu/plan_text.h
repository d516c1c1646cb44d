/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WORKER_GPU_PLAN_TEXT_H
#define KL_WORKER_GPU_PLAN_TEXT_H

#include "job/job.h"
#include "worker/gpu/bind.h"

/*
 * plan_text - a plan on its way into the GPU process, which resolves it for the device that it has:
 *
 *	{"plan": the plan's document, "dims": [names], "at": [values], "args": [...]}
 *
 * with one entry in `args` for each contract argument: null where a plan may name nothing,
 * {"tensor": name}, or {"scalar": name, "dtype": "f32", "bits": the double's bits}.
 */

/**
 * Owned by the caller. `real`: bytes of an oracle's kl_real, which its float scalars have; 0: a
 * kernel.
 */
json_t *kl_gpu_doc_make(const struct kl_job *job, const struct kl_point *pt,
			const struct kl_plan *plan, size_t real);
/**
 * Parse and resolve; `*plan` has to live while `*at` is made a binding of. KL_EINVALID also where a
 * `require` does not hold; KL_ECANNOT: the device has not what it needs.
 */
int kl_gpu_doc_resolve(struct kl_plan_at **at, struct kl_plan **plan, const char *text, size_t n,
		       const struct kl_gpu_set *set, const struct kl_gpu_facts *facts);

#endif
