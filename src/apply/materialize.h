/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_APPLY_MATERIALIZE_H
#define KL_APPLY_MATERIALIZE_H

#include "apply/agent.h"
#include "gate/gate.h"
#include "model/session.h"
#include "retrieve/index.h"
#include "retrieve/retrieve.h"

/*
 * materialize - cards become commits on a target, each judged by the gate (docs/formats.md,
 * "Materialized work").
 *
 * The cards that fit a node (retrieve.h) are tried in their order, first those whose carrier a tool
 * can apply (carrier.h), which is free; then, if there is a model, it is offered what is left
 * (materialize_agent.h). What the gate finds correct is a node; `best` moves to it only if it is
 * fast against the node that it stands on, and against the best so far. From a new best it goes on
 * with the cards that fit there. A node that is not faster is built on, three steps more, by cards
 * that its own card enables.
 *
 * A run that was killed is gone through again: its chain says what came of each edit
 * (materialize_log.h), its conversation what was said, so nothing is judged, kept or bought twice.
 *
 *	kl_materialize(&m, &opts);
 *	for (i = 0; i < m.n; i++) ... m.v[i]
 *	kl_materialize_release(&m);
 *
 * Every commit is kept by `chain` from the moment it is made; `branch` is the best.
 */
enum kl_materialize_outcome {
	KL_MATERIALIZE_LEFT,    /* no edit came of it: `why` */
	KL_MATERIALIZE_APPLIES, /* a dry run: it would be judged */
	KL_MATERIALIZE_KNOWN,   /* leads to a state that was judged before */
	KL_MATERIALIZE_UNUSED,  /* a reply that cannot be used, or gives up: `why` */
	KL_MATERIALIZE_FAIL,    /* the gate refused it: `why` is the class */
	KL_MATERIALIZE_NODE,    /* correct, not faster */
	KL_MATERIALIZE_BEST,    /* fast: the best from here on */
};
const char *kl_materialize_outcome_name(enum kl_materialize_outcome outcome);

struct kl_materialize_attempt {
	char *card; /* ""; by none */
	char blob[KL_OID_HEX];
	const char *by; /* "card": a tool; "chat", "exec" */
	char *source;   /* the turn; "" */
	enum kl_card_status status;
	size_t on;   /* node that it was tried on */
	size_t node; /* that came of it; 0: none */
	enum kl_materialize_outcome outcome;
	const char *how;     /* carrier.h; "" */
	char *why;           /* of what was left, or failed; "" */
	enum kl_speed speed; /* against the node it stands on */
	struct kl_card_ratio ratio;
	char event[KL_DIGEST_HEX];
};

struct kl_materialize_node {
	git_oid commit;
	struct kl_surface *state;
	struct kl_event *event; /* by which it was judged, or NULL */
	int depth;              /* steps from the root */
	bool correct;
};

struct kl_materialization {
	struct kl_materialize_attempt *v;
	size_t n, alloc;
	struct kl_materialize_node *node; /* [0] is the root */
	size_t nnode, node_alloc;
	size_t best;
	/* refs; branch is there if best is not 0, or was there before */
	char branch[256], chain[256];
	size_t offered; /* cards that fit the root */
	/* after the one that was asked for: there may be more to try */
	bool stopped;
	struct kl_strvec left_out; /* cards that the prefix had no room for */
	/* why the model was asked no more; NULL: it was not asked */
	char *ended;
	int64_t nano; /* what its conversation did cost; -1: not metered */
};

struct kl_materialize_opts {
	struct kl_repo *repo;         /* the target's */
	struct kl_repo *library;      /* the cards'; may be the same */
	const struct kl_index *index; /* of that library */
	const struct kl_taxonomy *tax;
	struct kl_gate *gate; /* a dry run has one, too, for its jail */
	const struct kl_surface *root;
	git_oid commit; /* of the root; a dry run from the worktree: HEAD */
	const char *name;
	unsigned statuses;    /* bits, as in retrieve.h */
	const char *platform; /* NULL: where the gate judges */
	bool go_on;           /* the branch is there, and the root is its tip */
	bool again;           /* the same run: the root is where it began */
	bool dry;
	/* stop once one change was judged; `again` goes on from there */
	bool one;
	/* the model; session NULL: none */
	struct kl_session *session;
	const char *rewriter; /* "chat" or "exec" */
	/* what it is told of cards; unless FULL tools try no carrier */
	enum kl_cards_arm arm;
	const char *without; /* cards learned from this lineage are left out; or NULL */
	struct kl_progress *progress;
};

/**
 * 0, also where nothing was faster (`best` is 0 then). KL_EEXISTS: the branch is there, or a run
 * from another root has the name. KL_ENO: the root itself fails the gate. KL_ECANNOT: it cannot be
 * judged here. What was made before an error stays.
 */
int kl_materialize(struct kl_materialization *out, const struct kl_materialize_opts *opts);
void kl_materialize_release(struct kl_materialization *materialization);

/** Could it begin under that name? The errors of kl_materialize that say no; nothing is judged. */
int kl_materialize_check(const struct kl_materialize_opts *opts);

/** Where a run of that name began. KL_ENOTFOUND: there is none. */
int kl_materialize_begun(git_oid *root, struct kl_repo *repo, const char *workload,
			 const char *name);

/** "<platform leaf>-<first 7 of the commit>"; the caller's. */
char *kl_materialize_name(const char *platform, const git_oid *commit);
void kl_materialize_refs(char branch[256], char chain[256], const char *workload, const char *name);

#endif
