/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CONTRACT_LAUNCH_H
#define KL_CONTRACT_LAUNCH_H

#include "contract/surface.h"
#include "plan/plan.h"

/*
 * launch - the launch plan of a surface in CUDA, or of its oracle (docs/formats.md, "The launch
 * plan"). It is written in YAML, and checked at every point of the contract against the limits of
 * its architecture.
 *
 *	kl_launch_read(&l, surface, false);
 *	kl_plan_compile(l->plan)->arch, ->std, ->define	for nvcc
 *	kl_plan_kernels(l->plan, ...)			what must be in the cubin
 *	kl_plan_to_json(l->plan)			for the job, with the contents of `bytes` files
 *
 * Errors are KL_EINVALID "launch.yaml:12:7: ...". A plan is a source: an error in the plan of a
 * candidate is a fail of the candidate (class `launch`), one in the plan of an oracle is an error
 * of the contract.
 */
struct kl_launch {
	struct kl_plan *plan;
	char arch[16];     /* "sm_90a"; an oracle's plan without one has the candidate's */
	char platform[32]; /* id of the platform: "cuda/sm_90" */
};

/**
 * Read the plan of the surface or, with `oracle`, of its oracle, whose code must run on the
 * candidate's architecture. KL_ENOTFOUND: there is no plan. KL_EINVALID: the plan is invalid.
 */
int kl_launch_read(struct kl_launch **out, const struct kl_surface *surface, bool oracle);
void kl_launch_free(struct kl_launch *launch);
KL_DEFINE_CLEANUP(struct kl_launch *, kl_launch_free)

/**
 * Read a plan from memory. `file` are the files that `bytes` and `artefact` may name. The plan's
 * code must run on `arch`, which is also the default of its own; NULL: the plan must name its own.
 */
int kl_launch_parse(struct kl_launch **out, const struct kl_contract *contract, const char *name,
		    const char *text, size_t len, const struct kl_file *file, size_t nfile,
		    const char *arch);

#endif
