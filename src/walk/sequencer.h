/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_WALK_SEQUENCER_H
#define KL_WALK_SEQUENCER_H

#include "base/lock.h"
#include "base/progress.h"
#include "gate/gate.h"
#include "rewrite/rederive.h"
#include "rewrite/rewriter.h"
#include "walk/opstate.h"

/*
 * sequencer - carries out a walk, durably: every transition of walk.h is saved
 * (opstate.h) before the next one begins. What it makes on the way are
 * objects only; the refs of the result move once, at the end, in one
 * transaction that also deletes the operation.
 *
 *	struct kl_sequencer s = { .repo = r, .judge = ..., ... };
 *	kl_sequencer_start(&s, &opts)		or kl_sequencer_resume(&s)
 *	kl_sequencer_run(&s, &outcome)
 *	kl_sequencer_release(&s)
 *
 * KL_EINTR, a full disk or kill -9 leave the operation where it was; resume and
 * run go on. While a process works on an operation it holds a lock of this
 * worktree; KL_EBUSY: another one does, or an operation is in progress already.
 */

/** The model of a walk, or whoever stands in for it. All NULL: the walk has none. */
struct kl_sequencer_model {
	/** Opened when it is first needed; it stays the opener's. */
	int (*open)(struct kl_session **out, const char *workload, void *payload);
	int (*rederive)(struct kl_proposal **out, char **why, const struct kl_rederive *r);
	int (*audit)(json_t **audited, const struct kl_trait_reading *r);
};

struct kl_sequencer {
	struct kl_repo *repo;
	/** kl_gate_judge, or whoever stands in for it. `parent` may be NULL. */
	int (*judge)(struct kl_judgement **out, const struct kl_surface *candidate,
		     const struct kl_surface *parent, void *payload);
	/**
	 * Where the judge defers (gate.h): send away what it collected, and how many jobs that is.
	 * NULL: it never does.
	 */
	int (*send)(struct kl_parcel *out, void *payload);
	size_t (*collected)(void *payload);
	size_t most_jobs; /* of one bundle; 0: 64 */
	/** The same, measured anew whatever is known. NULL: it cannot. */
	int (*judge_anew)(struct kl_judgement **out, const struct kl_surface *candidate,
			  const struct kl_surface *parent, void *payload);
	struct kl_sequencer_model model;
	void *payload;
	const struct kl_jail *jail;             /* for semantic patches; NULL: they are left out */
	const struct kl_mechanisms *mechanisms; /* NULL: none known */
	struct kl_progress *progress;           /* or NULL */
	/* private */
	struct kl_opstate op;
	struct kl_rewrite rw;
	struct kl_session *session; /* once it was needed; borrowed */
	struct kl_lock lock;
	char *edit_dir;
	char sent_for[KL_DIGEST_HEX];     /* surface that a bundle was last sent for */
	char *why_not;                    /* what could not be judged there, or NULL */
	int timeouts;                     /* of the model, in a row */
	size_t had_steps, had_rejections; /* when this run began */
};

#define KL_SEQUENCER_INIT                                             \
	{                                                             \
		.op = { .events = KL_BUF_INIT }, .lock = KL_LOCK_INIT \
	}

struct kl_sequencer_opts {
	const char *expert;   /* revision; NULL: HEAD */
	const char *dir;      /* contract's directory in that tree */
	const char *name;     /* NULL: <platform leaf>-<first 7 of the expert> */
	const char *platform; /* "cpu/x86-64-v3" */
	const char *rewriters;
	const char *runner;   /* NULL: as configured, at each --continue */
	const char *rederive; /* "chat" or "exec"; NULL: no step is derived anew */
	int64_t step_limit, rejection_limit;
};

struct kl_outcome {
	bool waiting;     /* stepwise: stopped for an edit in `edit_dir` */
	char *edit_dir;   /* NULL unless waiting for an edit */
	json_t *awaiting; /* NULL unless waiting for results (docs/formats.md, "operation") */
	bool still;       /* ... and none has come since the last time */
	char workload[72], name[72];
	char lineage[256], walk[256], rejected[256]; /* "": not written */
	char termination[24];
	size_t steps, rejections, rederived;
	size_t unisolated; /* derived anew by somebody who could see the repository */
	/* what this run judged, in the order of the records: docs/formats.md, "--json" */
	json_t *judged;
};

/* outcome.c */
void kl_outcome_release(struct kl_outcome *outcome);

/** Check everything that can be checked before long work, then create the operation. */
int kl_sequencer_start(struct kl_sequencer *sequencer, const struct kl_sequencer_opts *opts);
/**
 * Take up the operation of this worktree; clears locks that a dead process left. KL_ENOTFOUND:
 * none.
 */
int kl_sequencer_resume(struct kl_sequencer *sequencer);

/**
 * Until the lineage is written or a person is to edit. KL_ENO: the expert
 * fails its own gate, or nothing could be removed; the operation is over then, too.
 */
int kl_sequencer_run(struct kl_sequencer *sequencer, struct kl_outcome *out);

/**
 * stepwise: take what stands in the edit directory as the next proposal. KL_EINVALID when
 * nothing was changed. `claim` may have action, mechanism, locus, text.
 */
int kl_sequencer_collect(struct kl_sequencer *sequencer, const struct kl_claim *claim);
/** stepwise: take this step instead. KL_EINVALID: a sentence for its author; nothing has changed. */
int kl_sequencer_take(struct kl_sequencer *sequencer, const struct kl_envelope *step);
/** Ask the rewriters for the next proposal: for the run, and for speculate.h. */
int kl_sequencer_ask(struct kl_sequencer *sequencer);
/** Drop the proposal at hand, recorded as rejected with class "skipped". */
int kl_sequencer_skip(struct kl_sequencer *sequencer);
/** End here: what was accepted becomes a lineage, termination "stopped". Then run. */
int kl_sequencer_stop(struct kl_sequencer *sequencer);
/** Forget the operation; no ref of a result has moved, so none has to be put back. */
int kl_sequencer_abort(struct kl_sequencer *sequencer);

void kl_sequencer_release(struct kl_sequencer *sequencer);

/**
 * "refs/heads/klineage/walk/<workload>/<name>" and the like; `kind` is "walk", "lineage" or
 * "rejected".
 */
void kl_lineage_ref(char ref[256], const char *kind, const char *workload, const char *name);

#endif
