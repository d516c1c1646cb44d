/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_GATE_RUNNER_RUNNER_H
#define KL_GATE_RUNNER_RUNNER_H

#include <stdbool.h>

#include "backend/backend.h"
#include "jail/jail.h"
#include "text/json.h"

/*
 * runner - carries jobs to klineage-worker and their results back. A table of
 * ways (docs/formats.md, "Bundles and results"):
 *
 *	local		this machine, now, job by job: surface c in the run jail, device code
 *			in an environment of its own (nothing of a candidate runs on the host)
 *	bundle		never judges: jobs are collected into one file, which a person takes to a
 *			worker; what comes back is imported
 *	ssh:<host>	the same file to a worker over ssh, and its results back, at once
 *
 *	kl_runner_parse(&r, "ssh:gpu1")
 *	r.way->run ? r.way->run(&result, ...) : collect, then r.way->carry
 */
#define KL_RUNNER_NAME 140

struct kl_runner;

/* One job, now. */
struct kl_runner_work {
	const struct kl_jail *jail;
	const json_t *job;
	/* everything that the job names lies here; the one writable place */
	const char *dir;
	int64_t timeout_ms;
	const char *ncu; /* path that the user set; NULL: the worker looks for it */
	const struct kl_backend_device *device; /* that the job needs; NULL: none */
};

/* Many, in a bundle. */
struct kl_runner_load {
	const struct kl_buf *bundle;
	const char *worker; /* the program there; NULL: klineage-worker */
	bool talk;          /* its progress on our stderr */
};

struct kl_runner_way {
	const char *name;
	int (*check)(const char *arg); /* NULL: takes none */
	/** KL_ECANNOT: no worker could run; the message has its words. NULL: jobs are collected. */
	int (*run)(json_t **result, const struct kl_runner_work *w);
	/**
	 * The results as far as they came, also when it fails (KL_ECANNOT). NULL: nobody but a
	 * person carries them.
	 */
	int (*carry)(struct kl_buf *results, const struct kl_runner *r,
		     const struct kl_runner_load *l);
};

struct kl_runner {
	const struct kl_runner_way *way;
	char name[KL_RUNNER_NAME]; /* as it was asked for */
	const char *arg;           /* into a copy of it; NULL: none */
	char copy[KL_RUNNER_NAME];
};

/** NULL: "local". KL_EUSAGE names what is wrong. */
int kl_runner_parse(struct kl_runner *out, const char *name);

/**
 * Is this a result (klineage.result/1) with a status that we know? Whatever a worker prints is
 * input.
 */
int kl_runner_check(const json_t *result);

/**
 * Did the worker answer "cannot" to a job for a device without having found one? Then there is none
 * here, or none that the job's code is for.
 */
bool kl_runner_lacks_device(const json_t *result);

/**
 * Of a surface with host code: does the result say that it ran behind a wall (`wall`), as its tier
 * promises? KL_ECANNOT: it does not, or not of all of it: the worker is too old, or not ours.
 */
int kl_runner_check_wall(const json_t *result);

/** A program's path that a remote shell takes as one plain word. */
bool kl_runner_program_ok(const char *path);

#endif
