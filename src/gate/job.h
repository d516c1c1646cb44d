/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_GATE_JOB_H
#define KL_GATE_JOB_H

#include <stdbool.h>
#include <stdint.h>

#include "contract/contract.h"
#include "event/platform.h"

/*
 * job - writes the job for klineage-worker, with everything resolved: every expression a number,
 * every name resolved (docs/formats.md, "job"). What the worker reads it with is job/job.h.
 */
struct kl_job_spec {
	const struct kl_contract *contract;
	const struct kl_platform *platform;
	const char *truth_so, *honest_so;
	const char *candidate_so, *parent_so;	/* parent may be NULL */
	const struct kl_strvec *kernels;	/* of a candidate with host code */
	/* cuda: launch plans, as kl_launch has them; parent_plan NULL without a parent */
	const json_t *plan, *parent_plan, *oracle_plan;
	const char *arch;			/* cuda: "sm_90a" */
	/* cuda: the baseline, where it is a kernel of ours (baseline.h); else NULL */
	const char *baseline_cubin;
	const json_t *baseline_plan;
	const char *pool;			/* directory, made by the worker */
	bool audit, correct, profile;
	bool counters;				/* of the hardware, once it passed */
	bool also_only;			/* without the performance points, if there are others */
	uint64_t seed;				/* 0: from the system */
	int64_t profile_max_ms;
};

/**
 * KL_EINVALID: an expression cannot be evaluated at a point; KL_ECANNOT: the
 * points do not fit into this machine. `*job` is the caller's.
 */
int kl_job_write(json_t **job, const struct kl_job_spec *s);

#endif
