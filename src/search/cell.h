/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_SEARCH_CELL_H
#define KL_SEARCH_CELL_H

#include "base/progress.h"
#include "gate/wave.h"
#include "model/session.h"
#include "search/judging.h"
#include "search/links.h"
#include "search/policy/setup.h"

/*
 * cell - runs a search: a policy proposes tickets, one after the other; for each ticket a model is
 * asked for a candidate, the gate judges the candidate, and the observation is stored
 * (docs/formats.md, "Searches").
 *
 * A ticket is done before the next one begins, unless its verdict comes from elsewhere. Then the
 * ticket is open: it has no link yet, and the tickets after it are done as far as their intents do
 * not depend on it. So their jobs are one wave (gate/wave.h).
 *
 * The intent of a ticket depends only on the setup, on the draws of the ticket, and on the
 * observations up to its horizon (policy.h). Therefore a search that was killed can be continued as
 * if it had not been: stored replies are not asked for again, cached verdicts are not judged again,
 * and commits and links get the same ids.
 *
 * The session that judges a candidate also times the root, and the candidate's speed is relative to
 * the root. So speeds from different sessions can be compared. The fastest correct candidate is the
 * best one, and `branch` points to its commit.
 *
 *	err = kl_cell_run(&cell, &opts);
 *	... cell.chain.v[t], cell.best ...
 *	kl_cell_release(&cell);
 */
#define KL_CELL_REF 256

struct kl_cell_opts {
	struct kl_repo *repo;
	struct kl_gate *gate;
	struct kl_session *session; /* pays for the requests of the search */
	const char *rewriter;       /* "chat" or "exec" */
	const char *name;
	const struct kl_surface *root;
	git_oid commit;               /* the commit of the root */
	const struct kl_setup *setup; /* for a new search; NULL continues the search `name` */
	struct kl_judging judging;    /* of a new search; `gate` is NULL if it has a table */
	struct kl_progress *progress;
};

struct kl_cell {
	const struct kl_cell_opts *opts;
	struct kl_setup setup;
	struct kl_judging judging;
	struct kl_links chain;
	int64_t best; /* ticket of the fastest correct candidate; 0 if none is faster than the root */
	int64_t candidates; /* number of tickets that asked for a candidate */
	int64_t idle;       /* number of notes since the last ticket that was not a note */
	char branch[KL_CELL_REF], ref[KL_CELL_REF]; /* names of the branch and of the chain */
	char *ended; /* why the search ended early, or NULL if it did not */
	/*
	 * with `ended`: KL_ENO if the budget is spent, KL_ENOTFOUND if the recording lacks the
	 * reply, KL_ETIMEOUT if the model does not answer, 0 if no candidate came of the last notes
	 */
	int ended_by;
	size_t judged; /* number of candidates that the gate judged in this run */
	size_t open;   /* number of tickets whose verdict comes later */
	struct kl_wave wave;
	/* the policy's experience, up to the horizon of the last ticket */
	struct kl_experience *seen;
};

/**
 * Run a search to its end, or until verdicts must come from elsewhere: then out->open is not 0, and
 * out->wave has the bundle. If the search must end early, for example because its budget is spent, return 0
 * and set out->ended. Return KL_EEXISTS if a new search is asked for and one of this name exists,
 * KL_ENOTFOUND if there is no search to continue, KL_ENO if the root fails the gate, and KL_ECANNOT
 * if a kernel cannot be judged here. All tickets that were done before an error are stored. The
 * caller releases *out, also after an error.
 */
int kl_cell_run(struct kl_cell *out, const struct kl_cell_opts *opts);
void kl_cell_release(struct kl_cell *cell);

/**
 * Measure the best candidate against the root once more, and write a note with the event on its
 * commit. The search chose the candidate because it was measured as the fastest of many, which
 * makes it look faster than it is; a new measurement does not have this bias. The caller frees
 * *out. If the measurement comes from elsewhere, set *out to NULL; cell->wave has the bundle. A
 * search with a table can measure nothing.
 */
int kl_cell_confirm(struct kl_judgement **out, struct kl_cell *cell);

/**
 * Return what figures of the search show: "real"; "recorded" if its verdicts come from a table;
 * "simulated" if its model is simulated as well.
 */
const char *kl_cell_evidence(const struct kl_cell *cell);

/* How a stored search began. */
struct kl_cell_begun {
	git_oid commit; /* of the root */
	char *place;    /* of the root */
	struct kl_judging judging;
	struct kl_search_table *table; /* of `judging`; owned */
};

/** Read how a search began; release *out. Return KL_ENOTFOUND if there is no such search. */
int kl_cell_begun(struct kl_cell_begun *out, struct kl_repo *repo, const char *workload,
		  const char *name);
void kl_cell_begun_release(struct kl_cell_begun *begun);

/** Write the full names of the refs of a search: its branch and the ref of its chain. */
void kl_cell_refs(char branch[KL_CELL_REF], char ref[KL_CELL_REF], const char *workload,
		  const char *name);

#endif
