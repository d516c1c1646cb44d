/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_SEARCH_CELL_H
#define KL_SEARCH_CELL_H

#include "base/progress.h"
#include "gate/gate.h"
#include "model/session.h"
#include "search/links.h"
#include "search/policy/setup.h"

/*
 * cell - a search of a kernel by a policy: asks for each ticket, has the candidate judged, and
 * stores what came of it (docs/formats.md, "Searches").
 *
 * A ticket is done before the next one is begun. Its intent depends only on the setup, on its draws
 * and on the observations up to its horizon (policy.h), so that a search that was killed goes on as
 * if it had not been: stored replies are not asked for again, cached verdicts are not judged again,
 * and commits and links get the same ids.
 *
 * Each candidate is compared with the root in the session that judges it, so that the speeds of a
 * search have one yardstick. The fastest correct one is the best; `branch` is at its commit.
 *
 *	err = kl_cell_run(&cell, &opts);
 *	... cell.chain.v[t], cell.best ...
 *	kl_cell_release(&cell);
 */
#define KL_CELL_REF 256

struct kl_cell_opts {
	struct kl_repo *repo;
	struct kl_gate *gate;
	struct kl_session *session; /* its purse is that of the search */
	const char *rewriter;       /* "chat" or "exec" */
	const char *name;
	const struct kl_surface *root;
	git_oid commit;               /* of the root */
	const struct kl_setup *setup; /* of a new search; NULL: continue the one of this name */
	struct kl_progress *progress;
};

struct kl_cell {
	const struct kl_cell_opts *opts;
	struct kl_setup setup;
	struct kl_links chain;
	int64_t best; /* ticket of the fastest correct candidate; 0: none is faster than the root */
	int64_t candidates;                         /* tickets that asked for one */
	int64_t idle;                               /* notes since the last of these */
	char branch[KL_CELL_REF], ref[KL_CELL_REF]; /* ref: of the chain */
	char *ended;   /* why the search ended early; NULL: it is done */
	size_t judged; /* candidates that were judged now */
	/* the policy's experience, up to the horizon of the last ticket */
	struct kl_experience *seen;
};

/**
 * Run a search to its end, or as far as its budget goes (`ended`). KL_EEXISTS: there is a search of
 * this name. KL_ENOTFOUND: there is none to continue. KL_ENO: the root fails the gate. KL_ECANNOT: a
 * kernel cannot be judged here. What was done before an error is stored.
 */
int kl_cell_run(struct kl_cell *out, const struct kl_cell_opts *opts);
void kl_cell_release(struct kl_cell *cell);

/**
 * Measure the best candidate against the root once more, apart from the search that chose it, and
 * note the event. The best of many noisy measurements looks faster than it is; this one does not.
 */
int kl_cell_confirm(struct kl_judgement **out, const struct kl_cell *cell);

/** Get the root's commit and place of a search; the caller frees *place. KL_ENOTFOUND: no search. */
int kl_cell_begun(git_oid *commit, char **place, struct kl_repo *repo, const char *workload,
		  const char *name);

/** Write the refs of a search: its branch and its chain. */
void kl_cell_refs(char branch[KL_CELL_REF], char ref[KL_CELL_REF], const char *workload,
		  const char *name);

#endif
