/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CONTRACT_LAUNCH_H
#define KL_CONTRACT_LAUNCH_H

#include "contract/surface.h"
#include "plan/plan.h"

/*
 * launch - reads the launch plan of a surface in CUDA, or of its oracle (docs/formats.md, "The
 * launch plan"). A plan is a YAML file, and is checked at every point of the contract against the
 * limits of its architecture.
 *
 *	kl_launch_read(&l, surface, false);
 *	kl_plan_compile(l->plan)->arch, ->std, ->define	for nvcc
 *	kl_plan_kernels(l->plan, ...)			kernels that the cubin must have
 *	kl_plan_to_json(l->plan)			for the job; `bytes` files are embedded
 *
 * Errors are KL_EINVALID "launch.yaml:12:7: ...". A plan is a source: an error in the plan of a
 * candidate is a fail of the candidate (class `launch`), but an error in the plan of an oracle is
 * an error of the contract.
 */
struct kl_launch {
	struct kl_plan *plan;
	/*
	 * the plan's architecture or a later one, such as "sm_90a". If an oracle's plan names none,
	 * it is the candidate's architecture.
	 */
	char arch[16];
	char platform[32]; /* id of the platform: "cuda/sm_90" */
};

/**
 * Read the plan of the surface or, with `oracle`, of its oracle. The oracle's code must run on the
 * candidate's architecture. `platform`, such as "cuda/sm_90", is the platform that the user asked
 * for (NULL if there is none); source for an earlier architecture is compiled for this platform.
 * Return KL_ENOTFOUND if there is no plan. Return KL_EINVALID if the plan is invalid.
 */
int kl_launch_read(struct kl_launch **out, const struct kl_surface *surface, bool oracle,
		   const char *platform);
void kl_launch_free(struct kl_launch *launch);
KL_DEFINE_CLEANUP(struct kl_launch *, kl_launch_free)

/**
 * Read a plan from memory. `bytes` and `artefact` in the plan may name the files in `file`. The
 * plan's code must run on the architecture `arch`, which is also the default if the plan names
 * none. Source for an earlier architecture is compiled for `arch`. If `arch` is NULL, the plan must
 * name its architecture.
 */
int kl_launch_parse(struct kl_launch **out, const struct kl_contract *contract, const char *name,
		    const char *text, size_t len, const struct kl_file *file, size_t nfile,
		    const char *arch);

#endif
