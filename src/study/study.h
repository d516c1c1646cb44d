/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_STUDY_STUDY_H
#define KL_STUDY_STUDY_H

#include "base/lock.h"
#include "search/cell.h"
#include "search/table/table.h"
#include "study/study_plan.h"

/*
 * study - compares policies: each policy searches each task with each seed, and each of these
 * searches is a cell (search/cell.h) with its own calls, money and random numbers.
 *
 * A study is frozen when it is started: refs/klineage/study/<name>/plan is a commit with the plan
 * as the user wrote it (plan.yaml) and with all that it names, resolved (study.json). Its parents
 * are the commits of the tasks' roots and experts, so that these are kept. Its tree also has the
 * tables that the verdicts come from (search/judging.h), if the gate does not judge. It never
 * changes: a changed plan is another study.
 *
 *	err = kl_study_make(&study, repo, &plan);
 *	err = kl_study_freeze(&study, repo, text, len);
 *	...
 *	err = kl_study_load(&study, repo, "ladder");
 *	for (size_t i = 0; i < kl_study_cells(&study); i++)
 *		kl_study_cell(&cell, &study, i);
 *	kl_study_release(&study);
 */
#define KL_STUDY_REFS "refs/klineage/study/"
#define KL_STUDY_REF 256
#define KL_CELL_NAME 65 /* a name is a slug */

struct kl_study_task {
	char *id, *workload;
	char *lineage;  /* "<workload>/<name>", or NULL if the task is not a state of a lineage */
	char *place;    /* of the contract, in the tree of `root` */
	git_oid root;   /* commit of the kernel where the search starts */
	git_oid expert; /* commit of the lineage's last state; zero without a lineage */
	char surface[KL_DIGEST_HEX], contract[KL_DIGEST_HEX]; /* of the root */
	char table[KL_DIGEST_HEX];      /* of the table with the verdicts; "": the gate judges */
	struct kl_search_table *opened; /* that table, from kl_study_make() only; owned */
};

struct kl_study_arm {
	char *id;
	struct kl_setup setup; /* without a key: each cell has its own */
	char *skill;           /* of provider `table`, else NULL */
};

struct kl_study {
	char *name;
	git_oid commit; /* zero until it is frozen */
	struct kl_study_task *task;
	size_t ntask;
	struct kl_study_arm *arm;
	size_t narm;
	int64_t seeds, cap; /* number of seeds; cap of a cell in nano-dollars */
	int64_t candidates; /* of a cell */
	char *provider, *model, *judge;
	char *version;  /* of the program that froze the study */
	int64_t policy; /* of the gate (KL_GATE_POLICY) */
	int64_t final, sd;
	struct kl_thresholds threshold;
};

struct kl_study_cell {
	const struct kl_study_task *task;
	const struct kl_study_arm *arm;
	const char *judge;       /* of the study */
	int64_t seed;            /* from 1 */
	char id[KL_CELL_NAME];   /* "<task>.<arm>.<seed>" */
	char name[KL_CELL_NAME]; /* name of the search: "<study>.<id>" */
	struct kl_setup setup;   /* of the arm, with the key of this cell */
};

/**
 * Find all that a plan names. KL_ENOTFOUND, KL_EINVALID: a task, a policy, a preset, a parameter or
 * a model's price is wrong or missing; the message names the task or the policy. The caller
 * releases *out, also after an error.
 */
int kl_study_make(struct kl_study *out, struct kl_repo *repo, const struct kl_study_plan *plan);
/**
 * Commit the study; `text` is the plan as the user wrote it. If this very study is frozen already,
 * do nothing. KL_EEXISTS: another study has this name.
 */
int kl_study_freeze(struct kl_study *study, struct kl_repo *repo, const char *text, size_t len);
/** Load a frozen study. KL_ENOTFOUND: there is no such study; a hint lists those there are. */
int kl_study_load(struct kl_study *out, struct kl_repo *repo, const char *name);
/** Read a study from its commit, wherever a ref to it may be. KL_EINVALID: it is malformed. */
int kl_study_read(struct kl_study *out, struct kl_repo *repo, const git_oid *commit);
void kl_study_release(struct kl_study *study);
/** Return the study as JSON, the content of study.json; the caller owns it. */
json_t *kl_study_json(const struct kl_study *study);

/**
 * Load the table with the verdicts on a task from the commit of the study; the caller frees *out.
 * KL_EINVALID: it is not the table that was frozen.
 */
int kl_study_table(struct kl_search_table **out, struct kl_repo *repo, const struct kl_study *study,
		   const struct kl_study_task *task);

/** Return the number of cells. */
size_t kl_study_cells(const struct kl_study *study);
/**
 * Describe cell `i` in the order in which cells are run, seeds first: every policy gets seed 1 on
 * every task before any gets seed 2, so that a study that is not finished is balanced.
 */
void kl_study_cell(struct kl_study_cell *out, const struct kl_study *study, size_t i);
/** Find the cell of this id, "<task>.<arm>.<seed>". KL_ENOTFOUND: the study has no such cell. */
int kl_study_find_cell(struct kl_study_cell *out, const struct kl_study *study, const char *id);
/** Write the name of a ref of the study: "plan", "final" or "end/<cell>". */
void kl_study_ref(char out[KL_STUDY_REF], const char *study, const char *leaf);
/**
 * Lock a study, so that one process at a time runs its cells or measures its winners. KL_EBUSY:
 * another process holds the lock.
 */
int kl_study_lock(struct kl_lock *lock, struct kl_repo *repo, const struct kl_study *study);
/** List the names of all studies of this repository, sorted. */
int kl_study_names(struct kl_strvec *out, struct kl_repo *repo);

#endif
