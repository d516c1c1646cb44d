/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_APPLY_MATERIALIZE_PARTS_H
#define KL_APPLY_MATERIALIZE_PARTS_H

#include "apply/materialize_log.h"

/*
 * materialize_parts - a run in progress, shared by the files of materialize. Inside src/apply only.
 */
/* most attempts of a run, on all nodes together */
#define KL_MATERIALIZE_ATTEMPTS 256
/* most further steps from a node that is not faster */
#define KL_MATERIALIZE_BUILD_ON 3
/* most bytes of cards in the system texts of a conversation */
#define KL_MATERIALIZE_PREFIX_MAX ((size_t)256 << 10)

struct kl_materialize_run {
	const struct kl_materialize_opts *o;
	struct kl_materialization *m;
	struct kl_materialize_log log;
	char *platform;
	git_oid tip;   /* commit of the branch; zero: the branch does not exist */
	size_t judged; /* edits that the gate judged in this run */
};

/** Retrieve the cards that fit a node, except those learned from the lineage `without`. */
int kl_materialize_pool(struct kl_retrieval *out, const struct kl_materialize_run *run,
			size_t node);

/** An edit of a node that is to be judged. */
struct kl_materialize_edit {
	const struct kl_card *card;     /* NULL: made without a card */
	const char *action, *mechanism; /* as the model named them; NULL: as in the card */
	const char *how;
	struct kl_surface **to; /* the edited surface; ownership is taken if it becomes a node */
};
/**
 * Set the outcome of an attempt from the log of an earlier run, or by the gate. The edit is then
 * kept and becomes a node, unless a node with that state exists.
 */
int kl_materialize_settle(struct kl_materialize_attempt *attempt, struct kl_materialize_run *run,
			  const struct kl_materialize_edit *edit);
/** Append an attempt, and take ownership of its strings; returns its index. */
size_t kl_materialize_add_attempt(struct kl_materialize_run *run,
				  struct kl_materialize_attempt *attempt);

/** Try all mechanical carriers on the best node, and again on each new best node. */
int kl_materialize_climb(struct kl_materialize_run *run);
/** Ask the model; after each new best node, try the carriers again (materialize_agent.c). */
int kl_materialize_ask(struct kl_materialize_run *run);

#endif
