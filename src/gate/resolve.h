/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_GATE_RESOLVE_H
#define KL_GATE_RESOLVE_H

#include <stdbool.h>
#include <stdint.h>

#include "backend/backend.h"
#include "job/job.h"

/*
 * resolve - builds the job that judges a candidate under its contract (job/job.h). The job has the
 * value of every expression at every point, and the paths of compiled objects.
 */
#define KL_RESOLVE_DIMS 2 /* maximum number of points in `dims` */

struct kl_resolve_of { /* all members are borrowed */
	const struct kl_backend *backend;
	const struct kl_contract *contract;
	const struct kl_platform *platform;
	const char *truth, *honest;            /* paths of the compiled oracles */
	const struct kl_launch *oracle_launch; /* NULL if the oracle has no launch plan */
	const struct kl_artefact *candidate;
	const struct kl_artefact *parent;   /* NULL if there is none */
	const struct kl_artefact *baseline; /* NULL if none was compiled */
	const char *pool;                   /* path of the pool; the worker creates it */
	bool audit, correct, profile;       /* stages to run */
	bool counters;                      /* read hardware counters if the candidate passes */
	bool also_only; /* if the contract has `also` points, judge only at them */
	uint64_t seed;  /* 0 if the worker draws a seed from the system */
	/*
	 * judge only at these points (struct kl_gate_opts); NULL to judge at the contract's points
	 */
	const char *dims;
	bool timed;             /* the points in `dims` are timed; the domain is not searched */
	const char *base;       /* addresses, as in struct kl_gate_point; NULL for any */
	int64_t profile_max_ms; /* time limit of the profile */
};

/**
 * Build the job, which the caller frees. Return KL_EINVALID if an expression cannot be evaluated at
 * a point. Return KL_ECANNOT if the tensors of a point do not fit into this machine's memory.
 */
int kl_resolve_job(struct kl_job **out, const struct kl_resolve_of *of);

#endif
