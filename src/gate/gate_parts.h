/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_GATE_PARTS_H
#define KL_GATE_PARTS_H

#include "base/map.h"
#include "base/scratch.h"
#include "gate/ahead.h"
#include "gate/build.h"
#include "gate/gate.h"
#include "gate/runner/bundle.h"
#include "gate/runner/runner.h"

/*
 * gate_parts - the structure of a session and the inputs of a judgement. gate.c, gate_job.c and
 * gate_judge.c share them.
 */
struct kl_gate {
	struct kl_repo *repo;
	struct kl_gate_opts opts;
	struct kl_jail jail;
	struct kl_runner runner;
	struct kl_bundle *bundle; /* jobs that wait to be sent */
	struct kl_builder builder;
	struct kl_scratch scratch; /* private directory for objects and pools */
	const char *dir;           /* path of `scratch` */
	bool counters;             /* read hardware counters of candidates that pass */
	const char *ncu;           /* path of ncu; NULL if the worker finds it */
	struct kl_map audited;     /* contract digest -> "" once the contract passed its audit */
	bool no_device;            /* the worker found no device in the last judgement */
	bool refused; /* the worker refused the last job, but not for want of a device */
	bool again;   /* in kl_gate_judge_anew(), and the runner judges elsewhere */
	const struct kl_gate_point *point; /* in kl_gate_judge_point(); else NULL */
	/*
	 * the last judgement, if it found no device and so has no verdict (kl_gate_compiled());
	 * else NULL
	 */
	struct kl_judgement *compiled;
	struct kl_ahead ahead; /* surfaces to compile during the next judgement */
};

/* Inputs of one judgement. */
struct kl_gate_task {
	const struct kl_backend *backend; /* of the candidate */
	struct kl_platform platform;
	const struct kl_built *candidate, *parent; /* `parent` may be NULL */
	const struct kl_built_oracle *oracle;
	const struct kl_artefact *baseline; /* a shipped kernel; NULL if there is none */
};

/**
 * Turn errors that are not the kernel's fault (a full disk, a lack of memory or descriptors, a file
 * that vanishes) into KL_ECANNOT: the kernel cannot be tested now.
 */
int kl_gate_trouble(int err);

/**
 * Begin a judgement: make its event, and compile everything that the task needs. If the candidate
 * is refused, the verdict is set and the task's candidate has no artefact.
 */
int kl_gate_task_open(struct kl_judgement **out, struct kl_gate_task *task, struct kl_gate *gate,
		      const struct kl_surface *surface, const struct kl_surface *parent);
/** Fill the event from the result of the task's job. */
void kl_gate_task_take(struct kl_judgement *judgement, const struct kl_gate_task *task,
		       const struct kl_surface *surface, const struct kl_surface *parent,
		       const json_t *result);

/** Make the job that judges a candidate. The caller releases *doc. */
int kl_gate_job_make(json_t **doc, struct kl_gate *gate, const struct kl_surface *surface,
		     const struct kl_gate_task *task);
/** Run a job on this machine. A job with a profile on the CPU holds the machine's lock. */
int kl_gate_job_run(json_t **result, struct kl_gate *gate, const struct kl_surface *surface,
		    const struct kl_backend *backend, const json_t *job);

#endif
