/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_GATE_RESOLVE_H
#define KL_GATE_RESOLVE_H

#include <stdbool.h>
#include <stdint.h>

#include "backend/backend.h"
#include "job/job.h"

/*
 * resolve - makes the job (job/job.h) that judges a candidate under its contract: evaluates every
 * expression at every point, and names the compiled objects.
 */
struct kl_resolve_of { /* all borrowed */
	const struct kl_backend *backend;
	const struct kl_contract *contract;
	const struct kl_platform *platform;
	const char *truth, *honest;            /* paths of the oracle's objects */
	const struct kl_launch *oracle_launch; /* NULL: the oracle has no plan */
	const struct kl_artefact *candidate;
	const struct kl_artefact *parent;   /* NULL: none */
	const struct kl_artefact *baseline; /* NULL: none that was compiled here */
	const char *pool;                   /* directory; the worker makes it */
	bool audit, correct, profile;       /* stages asked for */
	bool counters;                      /* hardware counters, if the candidate passes */
	bool also_only; /* leave out the timed points if the contract has others */
	uint64_t seed;  /* 0: the worker draws one from the system */
	int64_t profile_max_ms;
};

/**
 * KL_EINVALID: an expression cannot be evaluated at a point. KL_ECANNOT: the tensors of a point
 * do not fit into this machine's memory. `*job` is the caller's.
 */
int kl_resolve_job(struct kl_job **job, const struct kl_resolve_of *of);

#endif
