/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_SEARCH_TABLE_BUILD_H
#define KL_SEARCH_TABLE_BUILD_H

#include "base/progress.h"
#include "gate/wave.h"
#include "search/table/table.h"

/*
 * build - builds a table: has the gate judge the states of lineages and what is reached from them.
 *
 * The states are found breadth first: first the states of the lineages, the steps that the gate
 * refused in their walks, a comment and a syntax error for each; then one changed constant, then
 * two, and so on, each from a state that passes. Each state is timed against the root, which is K_0
 * of the first lineage. If the runner judges elsewhere, all states that can be judged are sent as
 * one bundle (gate/wave.h). A build that was stopped or killed finds the verdicts that it has in
 * the gate's cache.
 *
 *	struct kl_table_build build = { .repo = repo, .gate = gate, .ref = &refs, ... };
 *	err = kl_table_build_run(&build);
 *	if (!err && !build.wave.sent.waiting)
 *		kl_search_table_write(&text, build.table);
 *	kl_table_build_release(&build);
 */
struct kl_table_build {
	/* set by the caller */
	struct kl_repo *repo;
	struct kl_gate *gate;
	const struct kl_strvec *ref; /* refs of lineages of one workload */
	int64_t constants;           /* change at most so many constants of a state */
	int64_t values;              /* try at most so many values of each */
	int64_t limit;               /* of states; those of the lineages are always taken */
	struct kl_progress *progress;
	/* results */
	struct kl_search_table *table;
	struct kl_wave wave;
	size_t judged, cached; /* verdicts that were reached in this run, and before it */
	bool limited;          /* `limit` left states out */
	/* private */
	struct kl_surface **surface; /* of each state of the table; NULL: released */
	bool *known;                 /* the state has its verdict */
	size_t level;                /* states from here on were not tuned yet */
};

/**
 * Build the table, or send the jobs that wait. KL_EINVALID: the lineages are of several contracts.
 * KL_ENO: the root fails the gate. Other errors are those of kl_wave_run().
 */
int kl_table_build_run(struct kl_table_build *build);
void kl_table_build_release(struct kl_table_build *build);

#endif
