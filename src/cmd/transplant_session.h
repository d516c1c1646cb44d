/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_CMD_TRANSPLANT_SESSION_H
#define KL_CMD_TRANSPLANT_SESSION_H

#include "gate/wave.h"
#include "transplant/transplant.h"

/*
 * transplant_session - what `git klineage transplant` and `git klineage prune` share: their
 * options, the lineage that the operand names, and a session of the gate that judges its kernels.
 */
struct kl_transplant_args {
	const char *within, *jail, *platform;
	int64_t seconds; /* time limit; 0 for no limit */
	bool dry_run, quiet, progress, json;
	int64_t within_ppm; /* read from `within` */
};

/** The options of both verbs, for a table of struct kl_opt. */
#define KL_TRANSPLANT_OPTS(args)                                                            \
	KL_OPT_STR('\0', "within", &(args)->within, "<percent>",                            \
		   "how much slower a kernel may be and still count as not slower "         \
		   "(default: 1%)"),                                                        \
		KL_OPT_INT('\0', "seconds", &(args)->seconds, "<n>",                        \
			   "begin no new judgement after <n> seconds; run again to go on"), \
		KL_OPT_STR('\0', "jail", &(args)->jail, "<level>",                          \
			   "use this level of the jail (default: the strongest)"),          \
		KL_OPT_STR('\0', "platform", &(args)->platform, "<level>",                  \
			   "compile for this level (default: the lineage's)"),              \
		KL_OPT_BOOL('n', "dry-run", &(args)->dry_run,                               \
			    "judge nothing; show what earlier runs found"),                 \
		KL_OPT_BOOL('q', "quiet", &(args)->quiet, "show no progress"),              \
		KL_OPT_BOOL('\0', "progress", &(args)->progress,                            \
			    "show progress even if stderr is not a terminal"),              \
		KL_OPT_BOOL('\0', "json", &(args)->json, "print the result as JSON")

/** Check and read the options. Return KL_EUSAGE if one of them is invalid. */
int kl_transplant_args_check(struct kl_transplant_args *args, const char *synopsis);

struct kl_transplant_session {
	struct kl_transplant transplant;
	size_t step;          /* the step that the operand names; 0 if there is none */
	struct kl_gate *gate; /* NULL in a dry run */
	struct kl_progress *progress;
	struct kl_transplant_opts opts; /* for kl_transplant_judge() */
	struct kl_wave wave;
};

/**
 * Load the lineage that `what` ("<workload>[/<name>][:<step>]", NULL for the only lineage) names,
 * and open a session of the gate unless it is a dry run.
 */
int kl_transplant_session_open(struct kl_transplant_session *out, struct kl_repo *repo,
			       const struct kl_transplant_args *args, const char *what);
/** Clear the progress line, before the result is printed. */
void kl_transplant_session_quiet(struct kl_transplant_session *session);
/**
 * Call `judge`, and repeat this while a runner that judges elsewhere returns results at once.
 * Before each call the transplant is as it was loaded. Errors are those of `judge` and
 * kl_wave_run().
 */
int kl_transplant_session_judge(struct kl_transplant_session *session, int (*judge)(void *payload),
				void *payload);
/** If the user must carry jobs to a worker, return KL_ECANNOT (exit 125) with hints; else 0. */
int kl_transplant_session_end(const struct kl_transplant_session *session);
void kl_transplant_session_close(struct kl_transplant_session *session);

#endif
