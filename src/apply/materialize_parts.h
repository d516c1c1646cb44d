/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_APPLY_MATERIALIZE_PARTS_H
#define KL_APPLY_MATERIALIZE_PARTS_H

#include "apply/materialize_log.h"

/*
 * materialize_parts - a run in progress, shared by the files of materialize. Inside src/apply only.
 */
/* maximum number of attempts of a run, on all nodes together */
#define KL_MATERIALIZE_ATTEMPTS 256
/* maximum number of steps beyond a node that is not faster */
#define KL_MATERIALIZE_BUILD_ON 3
/* maximum number of edits of a run on nodes that are not the best and may be as fast */
#define KL_MATERIALIZE_BEYOND 12
/* maximum bytes of cards in the system texts of a conversation */
#define KL_MATERIALIZE_PREFIX_MAX ((size_t)256 << 10)

struct kl_materialize_run {
	const struct kl_materialize_opts *o;
	struct kl_materialization *m;
	struct kl_materialize_log log;
	char *platform;
	git_oid tip;    /* commit at the tip of the branch; zero if the branch does not exist */
	size_t judged;  /* number of edits that the gate judged in this run */
	size_t beyond;  /* number of edits that were tried beyond the best node */
	bool is_beyond; /* such edits are being tried */
};

/*
 * number of cards per axis that tools try; it is large, because a card that does not apply costs
 * nothing, and a transformation may apply to any kernel
 */
#define KL_MATERIALIZE_TRY 64

/**
 * Retrieve the cards that fit a node, except cards learned from the lineage `without`. `per_axis`
 * is the number of cards to take on each axis; 0 to take as many as retrieve lists.
 */
int kl_materialize_pool(struct kl_retrieval *out, const struct kl_materialize_run *run, size_t node,
			size_t per_axis);

/**
 * Retrieve the cards of which tools may try the diffs on a node, in the order of what came next in
 * lineages. These include cards that the node has already.
 */
int kl_materialize_pool_again(struct kl_retrieval *out, const struct kl_materialize_run *run,
			      size_t node);

/** An edit of a node, to be judged. */
struct kl_materialize_edit {
	const struct kl_card *card; /* NULL if made without a card */
	/* as the model's reply says; NULL to use those of the card */
	const char *action, *mechanism;
	const char *how;
	/* the edited surface; if it becomes a node, the node takes ownership */
	struct kl_surface **to;
};
/**
 * Set the outcome of an attempt: KL_MATERIALIZE_WAITS if there is no verdict yet, or if an attempt
 * before it waits. Otherwise from the log of an earlier run if it has the edit, otherwise from
 * the gate. Then keep the edit as a commit and make a node of it, unless a node with that state
 * exists.
 */
int kl_materialize_settle(struct kl_materialize_attempt *attempt, struct kl_materialize_run *run,
			  const struct kl_materialize_edit *edit);
/** Append an attempt, and take ownership of its strings; returns its index. */
size_t kl_materialize_add_attempt(struct kl_materialize_run *run,
				  struct kl_materialize_attempt *attempt);

/** Return true if the run is to stop after one judged edit and has judged one. */
bool kl_materialize_is_enough(const struct kl_materialize_run *run);
/** Return true if the run may try no further edit. */
bool kl_materialize_is_over(const struct kl_materialize_run *run);
/**
 * Apply the card in the way attempt->variant to the node attempt->on, and settle the attempt;
 * in_series must be set. The outcome is KL_MATERIALIZE_LEFT if the way does not apply.
 */
int kl_materialize_try_way(struct kl_materialize_attempt *attempt, struct kl_materialize_run *run,
			   const struct kl_card *card, const struct kl_retrieved *retrieved);
/** Free the strings of an attempt that is not added. */
void kl_materialize_drop_attempt(struct kl_materialize_attempt *attempt);
/**
 * Try the steps of each lineage on the node, each on the result of the last one that was correct,
 * until there is a new best (materialize_series.c).
 */
int kl_materialize_try_series(struct kl_materialize_run *run, size_t node);
/**
 * Try all mechanical carriers on the best node; whenever there is a new best node, try them on that
 * node too (materialize_climb.c).
 */
int kl_materialize_climb(struct kl_materialize_run *run);
/**
 * Ask the model for edits. After each new best node, try the mechanical carriers on that node
 * (materialize_agent.c).
 */
int kl_materialize_ask(struct kl_materialize_run *run);

#endif
