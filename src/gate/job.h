/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_GATE_JOB_H
#define KL_GATE_JOB_H

#include <stdbool.h>
#include <stdint.h>

#include "backend/backend.h"

/*
 * job - writes the job for klineage-worker, with everything resolved: every expression a number,
 * every name resolved (docs/formats.md, "job"). What the worker reads it with is job/job.h.
 */
struct kl_job_spec {
	const struct kl_backend *backend;
	const struct kl_contract *contract;
	const struct kl_platform *platform;
	const char *truth, *honest;            /* objects of the oracle */
	const struct kl_launch *oracle_launch; /* NULL: it has no plan */
	const struct kl_artefact *candidate;
	const struct kl_artefact *parent;   /* NULL: none */
	const struct kl_artefact *baseline; /* NULL: it is none of ours */
	const char *pool;                   /* directory, made by the worker */
	bool audit, correct, profile;
	bool counters;  /* of the hardware, once it passed */
	bool also_only; /* without the performance points, if there are others */
	uint64_t seed;  /* 0: from the system */
	int64_t profile_max_ms;
};

/**
 * KL_EINVALID: an expression cannot be evaluated at a point; KL_ECANNOT: the
 * points do not fit into this machine. `*job` is the caller's.
 */
int kl_job_write(json_t **job, const struct kl_job_spec *spec);

#endif
