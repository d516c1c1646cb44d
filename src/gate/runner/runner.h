/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_GATE_RUNNER_RUNNER_H
#define KL_GATE_RUNNER_RUNNER_H

#include <stdbool.h>

#include "backend/backend.h"
#include "jail/jail.h"
#include "text/json.h"

/*
 * runner - carries jobs to klineage-worker and their results back (docs/formats.md, "Bundles and
 * results"). A table has one row for each kind of runner:
 *
 *	local		run each job on this machine at once: kernels in C in the run jail, device
 *			code in a clean environment but no jail, as it does not run on the host
 *	bundle		collect jobs into one file; the user takes it to a worker and imports the
 *			results
 *	ssh:<host>	send the same file to a worker over ssh and read its results back
 *
 *	kl_runner_parse(&r, "ssh:gpu1")
 *	r.way->run ? r.way->run(&result, ...) : collect, then r.way->carry
 */
#define KL_RUNNER_NAME 140

struct kl_runner;

/* One job to run now. */
struct kl_runner_work {
	const struct kl_jail *jail;
	const json_t *job;
	/* directory with all files of the job; the worker may write to no other directory */
	const char *dir;
	int64_t timeout_ms;
	const char *ncu; /* path of ncu from the configuration; NULL if the worker finds it */
	const struct kl_backend_device *device; /* the device that the job needs, or NULL */
};

/* A bundle of jobs to send. */
struct kl_runner_load {
	const struct kl_buf *bundle;
	/* path of klineage-worker on the host; NULL if it is in PATH there */
	const char *worker;
	bool talk; /* show the worker's progress on our stderr */
};

struct kl_runner_way {
	const char *name;
	int (*check)(const char *arg); /* check the argument; NULL if this kind takes none */
	/**
	 * Run one job. Return KL_ECANNOT if the worker could not run; the message has its output.
	 * If `run` is NULL, jobs are collected in a bundle instead.
	 */
	int (*run)(json_t **result, const struct kl_runner_work *work);
	/**
	 * Send a bundle and read its results. Return KL_ECANNOT if the connection or the worker
	 * failed; `results` has the output received until then. If `carry` is NULL, the user
	 * carries the bundle.
	 */
	int (*carry)(struct kl_buf *results, const struct kl_runner *runner,
		     const struct kl_runner_load *load);
};

struct kl_runner {
	const struct kl_runner_way *way;
	char name[KL_RUNNER_NAME]; /* as the user wrote it, "ssh:<host>" */
	const char *arg;           /* the part after ':', in `copy`; or NULL */
	char copy[KL_RUNNER_NAME]; /* `name`, cut at the ':' */
};

/**
 * Parse the name of a runner; NULL means "local". Return KL_EUSAGE if the runner is unknown or its
 * argument is bad.
 */
int kl_runner_parse(struct kl_runner *out, const char *name);

/**
 * Check that a document is a result (klineage.result/1) with a known status. Return KL_EINVALID if
 * it is not. The output of a worker is untrusted input.
 */
int kl_runner_check(const json_t *result);

/**
 * Return true if the status is "cannot" and the result names no device, which means that the worker
 * found no device that the job's code can run on.
 */
bool kl_runner_lacks_device(const json_t *result);

/**
 * Check a result for a surface with host code: its member `wall` must state that the host code ran
 * confined, as the tier promises. Return KL_ECANNOT if the member is missing or does not list every
 * required restriction, because then the worker is too old or not ours.
 */
int kl_runner_check_wall(const json_t *result);

/** Return true if `path` has only characters that no remote shell treats specially. */
bool kl_runner_program_ok(const char *path);

#endif
