/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_GATE_RESOLVE_H
#define KL_GATE_RESOLVE_H

#include <stdbool.h>
#include <stdint.h>

#include "backend/backend.h"
#include "job/job.h"

/*
 * resolve - builds the job that judges a candidate under its contract (job/job.h). Every expression
 * is evaluated at every point; compiled objects are referred to by path.
 */
#define KL_RESOLVE_DIMS 2 /* most points in `dims` */

struct kl_resolve_of { /* all members are borrowed */
	const struct kl_backend *backend;
	const struct kl_contract *contract;
	const struct kl_platform *platform;
	const char *truth, *honest;            /* paths of the compiled oracles */
	const struct kl_launch *oracle_launch; /* NULL: the oracle has no plan */
	const struct kl_artefact *candidate;
	const struct kl_artefact *parent;   /* NULL: none */
	const struct kl_artefact *baseline; /* NULL: none was compiled */
	const char *pool;                   /* directory, created by the worker */
	bool audit, correct, profile;       /* stages to run */
	bool counters;                      /* read hardware counters if the candidate passes */
	bool also_only; /* leave out the timed points if the contract has others */
	uint64_t seed;  /* 0: the worker draws one from the system */
	/* judge only at these points, as in struct kl_gate_opts; NULL: at those of the contract */
	const char *dims;
	int64_t profile_max_ms;
};

/**
 * Build the job, which the caller frees. KL_EINVALID: an expression cannot be evaluated at a point.
 * KL_ECANNOT: the tensors of a point do not fit into this machine's memory.
 */
int kl_resolve_job(struct kl_job **out, const struct kl_resolve_of *of);

#endif
