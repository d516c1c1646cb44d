/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_APPLY_MATERIALIZE_H
#define KL_APPLY_MATERIALIZE_H

#include "apply/agent.h"
#include "apply/card_commit.h"
#include "apply/carrier.h"
#include "gate/gate.h"
#include "model/session.h"
#include "retrieve/index.h"
#include "retrieve/retrieve.h"

/*
 * materialize - applies cards to a target as commits, each judged by the gate (docs/formats.md,
 * "Materialized work").
 *
 * A node is a state of the run: the root, or the result of a judged edit. The cards that fit a node
 * (retrieve.h) are tried in order: first those with a mechanical carrier (carrier.h), which cost
 * nothing; then a model, if there is one, is offered the rest (materialize_agent.c). The model may
 * also make a free step, which applies none of them: cards are knowledge, not a permit. A node
 * becomes the `best` only if it is correct and if it is fast compared both with its parent and the
 * best so far. The run then continues with the cards that fit the new best. If a node is correct
 * but not faster, cards that its own card enables are tried on it, up to three steps beyond the
 * node.
 *
 * Of the mechanical carriers, the diffs of lineages come first, in the order of each lineage's
 * steps (series.h). Each diff is tried on the result of the one before, even if that result is
 * correct but not faster, up to three steps beyond the last node that was faster. Such a node may
 * already have the diff's card, because each diff of a card is for another place.
 *
 * If no card makes the best node faster, cards are tried on the nodes that were made from it and
 * are not slow, a few times in a run. A change that gains nothing may be what the next one needs.
 *
 * A transformation with a parameter is tried with one value after the other, all on the same node.
 * After a value that gave a new best, the first value that gives none ends the search.
 *
 * If the gate's runner judges elsewhere, the run goes as far as it can without a verdict: an edit
 * that waits stays open, and so do the edits after it, whose jobs wait along with it. A run that is
 * repeated once the results are imported finds the verdicts, in the same order.
 *
 * A killed run can be repeated at no cost: its chain has the outcome of each edit
 * (materialize_log.h) and its conversation has the replies, so that no edit is judged or committed
 * twice, and no reply is paid for twice.
 *
 *	kl_materialize(&m, &opts);
 *	for (i = 0; i < m.n; i++) ... m.v[i]
 *	kl_materialize_release(&m);
 *
 * `chain` is a ref that keeps every commit of the run reachable; `branch` is at the best commit.
 */
enum kl_materialize_outcome {
	KL_MATERIALIZE_LEFT,    /* the carrier made no edit: `why` has the reason */
	KL_MATERIALIZE_APPLIES, /* in a dry run: the carrier made an edit, which would be judged */
	KL_MATERIALIZE_KNOWN,   /* the edit makes the state of an existing node */
	/* the model gave up, or its reply could not be read: `why` has the reason */
	KL_MATERIALIZE_UNUSED,
	KL_MATERIALIZE_FAIL, /* the gate refused the edit: `why` is the class */
	KL_MATERIALIZE_NODE, /* correct, but not a new best */
	KL_MATERIALIZE_BEST, /* correct and fast: the new best */
	/* there is no verdict yet: of this edit, or of one that comes before it */
	KL_MATERIALIZE_WAITS,
};
const char *kl_materialize_outcome_name(enum kl_materialize_outcome outcome);

struct kl_materialize_attempt {
	char *card; /* id of the card that is applied or claimed; "" if there is no card */
	/* of a model's edit: why it counts for no card; KL_FREE_NOT if it applies `card` */
	enum kl_free free;
	char blob[KL_OID_HEX];
	const char *by; /* "card" for a mechanical carrier; "chat" or "exec" for a model */
	char *source;   /* the turn that made the edit; "" if there is no turn */
	enum kl_card_status status;
	size_t variant; /* of a tool's edit: which of the card's ways was applied (carrier.h) */
	bool in_series; /* the edit is the diff of a step of a lineage, after the steps before it */
	size_t on;      /* index of the node to which the card was applied */
	size_t node;    /* index of the resulting node; 0 if the attempt made no node */
	enum kl_materialize_outcome outcome;
	char how[KL_CARRIER_HOW]; /* how the carrier was applied (carrier.h), or "" */
	char *why;           /* reason or class of the failure, as the outcome says; "" if none */
	enum kl_speed speed; /* speed compared with the node `on` */
	struct kl_ratio ratio;
	char event[KL_DIGEST_HEX];
};

struct kl_materialize_node {
	git_oid commit;
	struct kl_surface *state;
	struct kl_event *event; /* the event that judged the state, or NULL */
	int depth;              /* number of steps from the root */
	bool correct;
};

struct kl_materialization {
	struct kl_materialize_attempt *v;
	size_t n, alloc;
	struct kl_materialize_node *node; /* [0] is the root */
	size_t nnode, node_alloc;
	size_t best;
	/* refs of the run; `branch` exists if `best` is not 0, or if it existed before the run */
	char branch[256], chain[256];
	/*
	 * number of cards that fit the root (kl_retrieve_mark_fit()); 0 if no card was tried or
	 * offered
	 */
	size_t offered;
	/*
	 * number of edits, or roots, whose verdict comes later: their jobs wait in the gate's
	 * session. The caller sends them (kl_gate_send()), and runs again with `again`.
	 */
	size_t waiting;
	/* the run ended because of the option `one` or `until`, so cards may be left to try */
	bool stopped;
	struct kl_strvec left_out; /* ids of the cards that did not fit into the prompt */
	/* why the conversation ended; NULL if no model was asked */
	char *ended;
	int64_t nano; /* cost of the conversation in nano-dollars; -1 if not metered */
};

struct kl_materialize_opts {
	struct kl_repo *repo;         /* repository of the target */
	struct kl_repo *library;      /* repository of the cards; can be `repo` */
	const struct kl_index *index; /* index of the cards' library */
	const struct kl_taxonomy *tax;
	struct kl_gate *gate; /* can be NULL in a dry run, which only uses its jail */
	const struct kl_surface *root;
	git_oid commit; /* commit of the root; HEAD for a dry run from the worktree */
	const char *name;
	unsigned statuses;    /* bit i: use cards whose status is enum kl_card_status i */
	const char *platform; /* NULL for the gate's platform */
	bool go_on;           /* continue the existing branch; the root is its tip */
	bool again;           /* resume an existing run, which began at the root */
	bool dry;
	/*
	 * stop after one judged edit; a later run with `again` continues from there. An edit that
	 * is measured again because of noise does not count
	 */
	bool one;
	/* start no further edit after this time of kl_clock_ns(); 0 for no limit */
	int64_t until;
	/* session of the model; NULL to use no model */
	struct kl_session *session;
	const char *rewriter; /* "chat" or "exec" */
	/*
	 * how cards are shown to the model; mechanical carriers are tried only with KL_CARDS_FULL
	 */
	enum kl_cards_arm arm;
	/* a lineage; cards learned from it are not used; NULL to use all cards */
	const char *without;
	struct kl_progress *progress;
};

/**
 * Apply cards as `opts` says. Return 0 even if no node was faster (`best` is then 0), or if a
 * verdict comes later (`waiting`). Return KL_EEXISTS if the branch exists, or a run from another
 * root has the name. Return KL_ENO if the root itself fails the gate. Return KL_ECANNOT if a kernel
 * cannot be judged here. Return KL_ECHANGED if the branch is not at a commit of this run. Commits
 * made before an error are kept.
 */
int kl_materialize(struct kl_materialization *out, const struct kl_materialize_opts *opts);
void kl_materialize_release(struct kl_materialization *materialization);

/**
 * Check that a run can begin under the name. Errors are those of kl_materialize(), but nothing is
 * judged.
 */
int kl_materialize_check(const struct kl_materialize_opts *opts);

/** Get the root of the run with the name `name`. Return KL_ENOTFOUND if there is no such run. */
int kl_materialize_begun(git_oid *root, struct kl_repo *repo, const char *workload,
			 const char *name);

/**
 * Return the default name of a run, "<last part of the platform>-<first 7 digits of the commit>".
 * The caller frees it.
 */
char *kl_materialize_name(const char *platform, const git_oid *commit);
/** Get the names of the refs of a run. */
void kl_materialize_refs(char branch[256], char chain[256], const char *workload, const char *name);

#endif
