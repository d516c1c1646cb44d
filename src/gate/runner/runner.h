/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_GATE_RUNNER_RUNNER_H
#define KL_GATE_RUNNER_RUNNER_H

#include <stdbool.h>

#include "backend/backend.h"
#include "jail/jail.h"
#include "text/json.h"

/*
 * runner - carries jobs to klineage-worker and their results back (docs/formats.md, "Bundles and
 * results"). There is a table of ways to do that:
 *
 *	local		run each job on this machine at once: surface c in the run jail, device
 *			code with a clean environment (a candidate's code does not run on the host)
 *	bundle		collect jobs into one file, which the user takes to a worker; the user
 *			imports the results
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
	/* has every file that the job refers to; the only writable directory */
	const char *dir;
	int64_t timeout_ms;
	const char *ncu; /* path of ncu from the configuration; NULL: the worker finds it */
	const struct kl_backend_device *device; /* needed by the job; NULL: none */
};

/* A bundle of jobs to send. */
struct kl_runner_load {
	const struct kl_buf *bundle;
	const char *worker; /* path of the program on that host; NULL: klineage-worker */
	bool talk;          /* show its progress on our stderr */
};

struct kl_runner_way {
	const char *name;
	int (*check)(const char *arg); /* check the argument; NULL: takes none */
	/**
	 * Run one job. KL_ECANNOT: the worker could not run; the message has its output. NULL: jobs
	 * are collected in a bundle.
	 */
	int (*run)(json_t **result, const struct kl_runner_work *work);
	/**
	 * Send a bundle and read its results. KL_ECANNOT: it failed; `results` has those received
	 * until then. NULL: the user carries the bundle.
	 */
	int (*carry)(struct kl_buf *results, const struct kl_runner *runner,
		     const struct kl_runner_load *load);
};

struct kl_runner {
	const struct kl_runner_way *way;
	char name[KL_RUNNER_NAME]; /* as the user wrote it, "ssh:<host>" */
	const char *arg;           /* the part after ':', in `copy`; NULL: none */
	char copy[KL_RUNNER_NAME]; /* `name`, cut at the ':' */
};

/** Parse the name of a runner; NULL means "local". KL_EUSAGE: unknown runner or bad argument. */
int kl_runner_parse(struct kl_runner *out, const char *name);

/**
 * Check that the document is a result (klineage.result/1) with a known status: KL_EINVALID. The
 * output of a worker is untrusted input.
 */
int kl_runner_check(const json_t *result);

/**
 * True if the status is "cannot" and the result names no device: the worker found no device that
 * the job's code can run on.
 */
bool kl_runner_lacks_device(const json_t *result);

/**
 * Check a result for a surface with host code: its member `wall` must state that the host code ran
 * confined, as the tier promises. KL_ECANNOT: it does not, or not completely: the worker is too old
 * or not ours.
 */
int kl_runner_check_wall(const json_t *result);

/** True if a remote shell would read the path of a program as one plain word. */
bool kl_runner_program_ok(const char *path);

#endif
