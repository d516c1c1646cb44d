/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CONTRACT_LAUNCH_H
#define KL_CONTRACT_LAUNCH_H

#include "contract/surface.h"
#include "plan/plan.h"

/*
 * launch - the launch plan of a surface in CUDA, or of its oracle: YAML, checked at every
 * point of the contract against what a device of its architecture can do, and turned
 * into the JSON that a job carries (docs/formats.md, "The launch plan").
 *
 *	kl_launch_read(&l, surface, false);
 *	kl_plan_compile(l->plan)->arch, ->std, ->define	for nvcc
 *	kl_plan_kernels(l->plan, ...)			what must be in the cubin
 *	spec.plan = l->json;				for the job
 *
 * Errors are KL_EINVALID "launch.yaml:12:7: ...". A plan is a source: in a candidate it is
 * the candidate that fails (class `launch`), in an oracle the contract is malformed.
 */
struct kl_launch {
	struct kl_plan *plan;
	json_t *json;      /* with the contents of `bytes` files */
	char arch[16];     /* "sm_90a"; an oracle that says none has the candidate's */
	char platform[32]; /* "cuda/sm_90": id of its platform */
};

/**
 * KL_ENOTFOUND: the surface has none. `oracle`: the plan of the oracle; its arch then
 * must run where the candidate's does.
 */
int kl_launch_read(struct kl_launch **out, const struct kl_surface *surface, bool oracle);
void kl_launch_free(struct kl_launch *launch);
KL_DEFINE_CLEANUP(struct kl_launch *, kl_launch_free)

/** The same from memory: `file` are those that `bytes:` and `artefact` may name. */
int kl_launch_parse(struct kl_launch **out, const struct kl_contract *contract, const char *name,
		    const char *text, size_t len, const struct kl_file *file, size_t nfile,
		    const char *arch /* where the plan need not say, or NULL */);

#endif
