/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_STUDY_STUDY_PLAN_H
#define KL_STUDY_STUDY_PLAN_H

#include <stdint.h>

#include "text/schema.h"

/*
 * study_plan - the file that a user writes to describe a study: which policies are compared, on
 * which tasks, with how many seeds, by which model, and what each cell may cost (docs/formats.md,
 * "Studies"). This file checks the form only; study.h resolves what the plan names.
 *
 *	err = kl_study_plan_parse(&plan, "ladder.yaml", text, len);
 *	kl_study_plan_release(&plan);
 */
#define KL_STUDY_BYTES ((size_t)256 << 10)
#define KL_STUDY_TASKS 64
#define KL_STUDY_ARMS 64
#define KL_STUDY_SEEDS 1000
#define KL_STUDY_THRESHOLDS 16

struct kl_planned_task {
	char *id;
	char *lineage;  /* "<workload>/<name>"; NULL: `workload` is set */
	char *workload; /* NULL: `lineage` is set */
	/* with `lineage`: "first" or a state, "K_3"; with `workload`: a revision or "baseline" */
	char *root;
	char *table; /* path or name of the table with its verdicts, or NULL */
};

/** An arm of a study: a policy with its parameters. */
struct kl_planned_arm {
	char *id; /* never NULL after parsing: by default the name of the policy */
	char *policy, *preset;
	char *skill;          /* of provider `table`; NULL: that of the study */
	struct kl_texts with; /* parameters and their values, as a user writes them */
};

/** Thresholds of fast_p, in millionths, in ascending order. */
struct kl_thresholds {
	int64_t *v;
	size_t n, alloc;
};

struct kl_study_plan {
	int64_t version;
	char *name;
	struct {
		struct kl_planned_task *v;
		size_t n, alloc;
	} task;
	struct {
		struct kl_planned_arm *v;
		size_t n, alloc;
	} arm;
	int64_t seeds;
	int64_t width;
	int64_t candidates;     /* number of candidates of a cell */
	char *usd;              /* what a cell may cost, like "2.00" */
	char *provider, *model; /* `model` is NULL if the provider needs no name */
	char *skill;            /* of provider `table`, or NULL */
	char *judge;            /* how candidates are judged: a name of search/judging.h */
	int64_t final;          /* number of final measurements of each winner */
	struct kl_thresholds threshold;
	int64_t sd; /* expected standard deviation of ln(speed) between seeds, in millionths */
};

/**
 * Parse the text of a plan; the caller releases *out, also after an error. KL_EINVALID: the message
 * is "<file>:<line>:<column>: ...".
 */
int kl_study_plan_parse(struct kl_study_plan *out, const char *file, const char *text, size_t len);
void kl_study_plan_release(struct kl_study_plan *plan);

#endif
