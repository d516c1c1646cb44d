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
 * sequencer - carries out a walk durably: each change to the walk (walk.h) is saved (opstate.h)
 * before the next begins. Until the walk ends, the sequencer adds git objects but moves only the
 * ref of the operation. The refs of the result move once, in a transaction that also deletes the
 * operation.
 *
 *	struct kl_sequencer s = { .repo = r, .judge = ..., ... };
 *	kl_sequencer_start(&s, &opts)		or kl_sequencer_resume(&s)
 *	kl_sequencer_run(&s, &outcome)
 *	kl_sequencer_release(&s)
 *
 * KL_EINTR, a full disk or kill -9 leave the operation as it was last saved; kl_sequencer_resume()
 * and kl_sequencer_run() continue it. A process holds a lock of the worktree while it works on an
 * operation. The functions return KL_EBUSY if another process holds the lock, or an operation is
 * already in progress.
 */

/**
 * Callbacks for the model of a walk, or for a test's substitute. All are NULL if the walk has no
 * model.
 */
struct kl_sequencer_model {
	/** Called when the session is first needed; the sequencer borrows the session. */
	int (*open)(struct kl_session **out, const char *workload, void *payload);
	int (*rederive)(struct kl_proposal **out, char **why, const struct kl_rederive *r);
	int (*audit)(json_t **audited, const struct kl_trait_reading *r);
};

struct kl_sequencer {
	struct kl_repo *repo;
	/** kl_gate_judge(), or a substitute. `parent` may be NULL. */
	int (*judge)(struct kl_judgement **out, const struct kl_surface *candidate,
		     const struct kl_surface *parent, void *payload);
	/**
	 * For a judge that defers verdicts (gate.h): `send` sends the collected jobs, `collected`
	 * returns their number. Both are NULL if the judge never defers.
	 */
	int (*send)(struct kl_transfer *out, void *payload);
	size_t (*collected)(void *payload);
	size_t most_jobs; /* maximum number of jobs in a bundle; 0 to use 64 */
	/** Like `judge`, but measures again and ignores known verdicts. NULL if not supported. */
	int (*judge_anew)(struct kl_judgement **out, const struct kl_surface *candidate,
			  const struct kl_surface *parent, void *payload);
	/** Like `judge`, for a state with another contract (zeroed.h). NULL if not supported. */
	int (*judge_cleared)(struct kl_judgement **out, const struct kl_surface *candidate,
			     const struct kl_surface *parent, void *payload);
	struct kl_sequencer_model model;
	void *payload;
	const struct kl_jail *jail;             /* for semantic patches; NULL to skip them */
	const struct kl_mechanisms *mechanisms; /* NULL if no mechanism is known by name */
	struct kl_progress *progress;           /* NULL to report nothing */
	/* private */
	struct kl_opstate op;
	struct kl_rewrite rw;
	struct kl_session *session; /* NULL until a session is needed; borrowed */
	struct kl_lock lock;
	char *edit_dir;
	char sent_for[KL_DIGEST_HEX]; /* digest of the surface for which a bundle was last sent */
	char *why_not; /* why the runner could not judge the surface `sent_for`, or NULL */
	int timeouts;  /* number of consecutive timeouts of the model */
	size_t had_steps, had_rejections; /* numbers of steps and rejections when this run began */
};

#define KL_SEQUENCER_INIT                                             \
	{                                                             \
		.op = { .events = KL_BUF_INIT }, .lock = KL_LOCK_INIT \
	}

struct kl_sequencer_opts {
	const char *expert;   /* revision; NULL for HEAD */
	const char *dir;      /* contract's directory in the expert's tree */
	const char *name;     /* NULL: <last part of the platform>-<first 7 digits of the expert> */
	const char *platform; /* "cpu/x86-64-v3" */
	const char *rewriters;
	/* NULL to read from the config when the walk starts and at each --continue */
	const char *runner;
	const char *rederive; /* "chat" or "exec"; NULL if no step is re-derived */
	int64_t step_limit, rejection_limit;
	bool keep_all; /* do not fold older states that change nothing (walk.h) */
};

struct kl_outcome {
	bool waiting;   /* stepwise: stopped for an edit in `edit_dir` */
	char *edit_dir; /* edit directory; NULL if the walk does not wait for an edit */
	/* NULL if the walk does not wait for results (docs/formats.md, "operation") */
	json_t *awaiting;
	bool still; /* the run waits for the same results as the run before */
	char workload[72], name[72];
	/* names of refs; "" if that ref was not written */
	char lineage[256], walk[256], rejected[256];
	char termination[24];
	size_t steps, rejections, rederived;
	/*
	 * numbers of older states that `history` passed over, which are not counted as rejections:
	 * those that equal another state, that have no readable sources, that have the machine code
	 * of another state, that were folded because they change nothing, and that do not compile
	 * with the contract of the expert
	 */
	struct {
		size_t equal, unreadable, same_code, no_effect, uncompiled;
	} passed_over;
	/* steps that were re-derived by a command which could see the repository */
	size_t unisolated;
	/*
	 * the proposals that this run judged, first the accepted ones (docs/formats.md, "--json")
	 */
	json_t *judged;
};

void kl_outcome_release(struct kl_outcome *outcome);
/**
 * Say how many older states were passed over, and why: "older states: 3 equal to another ..."; ""
 * if none was. The caller frees it.
 */
char *kl_outcome_passed_over(const struct kl_outcome *outcome);

/**
 * Check everything that can be checked early, then create the operation. Return KL_EBUSY if another
 * process holds the lock, or an operation is already in progress. Return KL_EEXISTS if the name is
 * taken. Return KL_EUSAGE if the name or the list of rewriters is invalid.
 */
int kl_sequencer_start(struct kl_sequencer *sequencer, const struct kl_sequencer_opts *opts);
/**
 * Resume the operation of this worktree, and remove lock files that a dead process left. Return
 * KL_ENOTFOUND if no operation is in progress.
 */
int kl_sequencer_resume(struct kl_sequencer *sequencer);

/**
 * Run until the lineage is written, or until the user must edit files or import results. Return
 * KL_ENO if the expert does not pass its own gate, or no step was accepted; the operation has
 * ended.
 */
int kl_sequencer_run(struct kl_sequencer *sequencer, struct kl_outcome *out);

/**
 * For `stepwise`: make the files in the edit directory the next proposal. `claim` has what the
 * author of the edit says about it. If the walk does not wait for an edit, do nothing. Return
 * KL_EINVALID if the files are unchanged or were already judged.
 */
int kl_sequencer_collect(struct kl_sequencer *sequencer, const struct kl_claim *claim);
/**
 * For `stepwise`: propose `step`, not the files in the edit directory. Return KL_EINVALID or KL_ENO
 * if the step is unusable (the message tells its author why), or the walk does not wait for an
 * edit.
 */
int kl_sequencer_take(struct kl_sequencer *sequencer, const struct kl_envelope *step);
/** Ask the rewriters for the next proposal; used by kl_sequencer_run() and kl_speculate(). */
int kl_sequencer_ask(struct kl_sequencer *sequencer);
/**
 * Skip the pending item: reject a pending proposal with class "skipped", give up re-deriving a
 * step, or stop waiting for an edit. Return KL_EUSAGE if nothing is pending.
 */
int kl_sequencer_skip(struct kl_sequencer *sequencer);
/**
 * End the walk with termination "stopped". The next kl_sequencer_run() writes the lineage. Return
 * KL_EUSAGE if the expert has not been judged yet.
 */
int kl_sequencer_stop(struct kl_sequencer *sequencer);
/**
 * Delete the operation and its edit directory. There are no refs to restore, because the refs of
 * the result move only when a walk ends. Return KL_ENOTFOUND if no operation is in progress.
 */
int kl_sequencer_abort(struct kl_sequencer *sequencer);

void kl_sequencer_release(struct kl_sequencer *sequencer);

/**
 * Get the name of a ref of a lineage: refs/heads/klineage/<kind>/<workload>/<name> if `kind` is
 * "walk" or "lineage", refs/klineage/rejected/<workload>/<name> if it is "rejected".
 */
void kl_lineage_ref(char ref[256], const char *kind, const char *workload, const char *name);

#endif
