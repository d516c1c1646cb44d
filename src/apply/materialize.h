/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_APPLY_MATERIALIZE_H
#define KL_APPLY_MATERIALIZE_H

#include "apply/agent.h"
#include "gate/gate.h"
#include "model/session.h"
#include "retrieve/index.h"
#include "retrieve/retrieve.h"

/*
 * materialize - applies cards to a target as commits, each judged by the gate (docs/formats.md,
 * "Materialized work").
 *
 * The cards that fit a node (retrieve.h) are tried in order: first those with a mechanical carrier
 * (carrier.h), which cost nothing; then a model, if there is one, is offered the rest
 * (materialize_agent.c). Each judged edit becomes a node. `best` moves to it only if it is correct
 * and fast against its parent and against the best so far; the run then continues with the cards
 * that fit the new best. On a node that is not faster, up to three further steps are tried with
 * cards that its own card enables.
 *
 * A killed run is replayed: its chain has the outcome of each edit (materialize_log.h), its
 * conversation the replies, so nothing is judged, kept or bought twice.
 *
 *	kl_materialize(&m, &opts);
 *	for (i = 0; i < m.n; i++) ... m.v[i]
 *	kl_materialize_release(&m);
 *
 * `chain` keeps every commit reachable from the moment it is made; `branch` is at the best one.
 */
enum kl_materialize_outcome {
	KL_MATERIALIZE_LEFT,    /* the carrier made no edit: `why` has the reason */
	KL_MATERIALIZE_APPLIES, /* dry run: it would be judged */
	KL_MATERIALIZE_KNOWN,   /* the edited state is that of an existing node */
	KL_MATERIALIZE_UNUSED,  /* the reply is unusable or gives up: `why` has the reason */
	KL_MATERIALIZE_FAIL,    /* the gate refused it: `why` is the class */
	KL_MATERIALIZE_NODE,    /* correct, not faster */
	KL_MATERIALIZE_BEST,    /* fast: the new best */
};
const char *kl_materialize_outcome_name(enum kl_materialize_outcome outcome);

struct kl_materialize_attempt {
	char *card; /* id; "": no card */
	char blob[KL_OID_HEX];
	const char *by; /* "card": mechanical carrier; "chat", "exec" */
	char *source;   /* the turn; "": none */
	enum kl_card_status status;
	size_t on;   /* node on which it was tried */
	size_t node; /* the resulting node; 0: none */
	enum kl_materialize_outcome outcome;
	const char *how;     /* from carrier.h, or "" */
	char *why;           /* see the outcomes; "": none */
	enum kl_speed speed; /* against the node `on` */
	struct kl_ratio ratio;
	char event[KL_DIGEST_HEX];
};

struct kl_materialize_node {
	git_oid commit;
	struct kl_surface *state;
	struct kl_event *event; /* of its judgement, or NULL */
	int depth;              /* steps from the root */
	bool correct;
};

struct kl_materialization {
	struct kl_materialize_attempt *v;
	size_t n, alloc;
	struct kl_materialize_node *node; /* [0] is the root */
	size_t nnode, node_alloc;
	size_t best;
	/* refs; branch exists if best is not 0, or if it existed before */
	char branch[256], chain[256];
	size_t offered; /* cards that fit the root */
	/* `one` stopped the run: there may be more cards to try */
	bool stopped;
	struct kl_strvec left_out; /* cards that did not fit into the prompt */
	/* why the conversation ended; NULL: the model was not asked */
	char *ended;
	int64_t nano; /* cost of the conversation, nano-dollars; -1: not metered */
};

struct kl_materialize_opts {
	struct kl_repo *repo;         /* of the target */
	struct kl_repo *library;      /* of the cards; can be `repo` */
	const struct kl_index *index; /* of that library */
	const struct kl_taxonomy *tax;
	struct kl_gate *gate; /* a dry run uses its jail */
	const struct kl_surface *root;
	git_oid commit; /* of the root; for a dry run from the worktree, HEAD */
	const char *name;
	unsigned statuses;    /* bits, as in retrieve.h */
	const char *platform; /* NULL: the gate's */
	bool go_on;           /* continue the existing branch: the root is its tip */
	bool again;           /* resume the same run: the root is where it began */
	bool dry;
	/* stop after one change was judged; `again` continues from there */
	bool one;
	/* the model; session NULL: none */
	struct kl_session *session;
	const char *rewriter; /* "chat" or "exec" */
	/* how cards are shown to the model; unless FULL, no mechanical carrier is tried */
	enum kl_cards_arm arm;
	const char *without; /* lineage whose cards are left out, or NULL */
	struct kl_progress *progress;
};

/**
 * Run. Returns 0 also if nothing was faster (`best` is 0). KL_EEXISTS: the branch exists, or a run
 * from another root has the name. KL_ENO: the root itself fails the gate. KL_ECANNOT: a kernel
 * cannot be judged here. KL_ECHANGED: the branch is not at a commit of this run. Commits made
 * before an error are kept.
 */
int kl_materialize(struct kl_materialization *out, const struct kl_materialize_opts *opts);
void kl_materialize_release(struct kl_materialization *materialization);

/** Check the name without judging: fails like kl_materialize if a run cannot begin under it. */
int kl_materialize_check(const struct kl_materialize_opts *opts);

/** Get the root of the run with that name. KL_ENOTFOUND: there is none. */
int kl_materialize_begun(git_oid *root, struct kl_repo *repo, const char *workload,
			 const char *name);

/** The default name: "<platform leaf>-<first 7 of the commit>"; the caller frees it. */
char *kl_materialize_name(const char *platform, const git_oid *commit);
/** The refs of a run. */
void kl_materialize_refs(char branch[256], char chain[256], const char *workload, const char *name);

#endif
