/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_STUDY_FINAL_H
#define KL_STUDY_FINAL_H

#include "gate/gate.h"
#include "study/standing.h"

/*
 * final - measures the winners of a study once more, apart from the searches that chose them.
 *
 * A search chose its winner because it was measured as the fastest of many, which makes it look
 * faster than it is. Here the winners of all cells that have ended, and the experts of the tasks,
 * are timed against their roots in as many rounds as the plan says, each round in another drawn
 * order. Every measurement is a commit on refs/klineage/study/<study>/final, whose final.jsonl has
 * a line for each so far; what was killed goes on with the next one.
 */
struct kl_final_line {
	char task[KL_CELL_NAME];
	char surface[KL_DIGEST_HEX];
	char event[KL_DIGEST_HEX]; /* id of the gate's event, which is in the note of the commit */
	bool expert;               /* of the task's expert, not of a winner */
	int64_t round;             /* from 1 */
	int64_t ppm, lo, hi;       /* speed relative to the root; 0: the gate refused the kernel */
};

struct kl_final {
	struct kl_final_line *v;
	size_t n, alloc;
	git_oid tip; /* zero: nothing was measured */
};

/** Load the measurements; none is no error. KL_EINVALID: they are malformed. */
int kl_final_load(struct kl_final *out, struct kl_repo *repo, const struct kl_study *study);
void kl_final_release(struct kl_final *final);
/**
 * Return the median speed of a kernel on a task over its rounds, or of the task's expert if
 * `surface` is NULL. 0: it was not measured, or the gate refused it.
 */
int64_t kl_final_median(const struct kl_final *final, const char *task, const char *surface);

struct kl_final_opts {
	struct kl_repo *repo;
	const struct kl_study *study;
	const char *jail, *platform; /* of the gate; NULL: as configured */
	struct kl_progress *progress;
};
/**
 * Measure what was not measured yet; set *made to the number of new measurements. KL_ECANNOT:
 * kernels cannot be judged here, or results would come later. KL_ENO: no cell with a winner has
 * ended.
 */
int kl_final_measure(size_t *made, const struct kl_final_opts *opts);

#endif
