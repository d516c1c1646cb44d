/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_APPLY_MATERIALIZE_PARTS_H
#define KL_APPLY_MATERIALIZE_PARTS_H

#include "apply/materialize_log.h"

/*
 * materialize_parts - a run in progress, shared by the files of materialize. Private to src/apply.
 */
#define KL_MATERIALIZE_ATTEMPTS 256                   /* attempts per run, on all nodes */
#define KL_MATERIALIZE_BUILD_ON 3                     /* steps on a node that is not faster */
#define KL_MATERIALIZE_PREFIX_MAX ((size_t)256 << 10) /* bytes of cards in a conversation */

struct kl_materialize_run {
	const struct kl_materialize_opts *o;
	struct kl_materialization *m;
	struct kl_materialize_log log;
	char *platform;
	git_oid tip;   /* of the branch; zero: not created yet */
	size_t judged; /* changes judged by the gate in this run */
};

/** Retrieve the cards that fit a node, except those of the lineage `without`. */
int kl_materialize_pool(struct kl_retrieval *out, const struct kl_materialize_run *run,
			size_t node);

/** An edit of a node, to be judged. */
struct kl_materialize_edit {
	const struct kl_card *card;     /* NULL: no card */
	const char *action, *mechanism; /* from a model; NULL: the card's */
	const char *how;
	struct kl_surface **to; /* taken if it becomes a node */
};
/**
 * Set the outcome of an attempt from the log or by the gate. The edit is then kept and becomes a
 * node, unless its state is known.
 */
int kl_materialize_settle(struct kl_materialize_attempt *attempt, struct kl_materialize_run *run,
			  const struct kl_materialize_edit *edit);
/** Append an attempt, taking the strings it owns; returns its index. */
size_t kl_materialize_add_attempt(struct kl_materialize_run *run,
				  struct kl_materialize_attempt *attempt);

/** Try all mechanical carriers on the best node, and again on each new best. */
int kl_materialize_climb(struct kl_materialize_run *run);
/** Ask the model; after each new best try the carriers again (materialize_agent.c). */
int kl_materialize_ask(struct kl_materialize_run *run);

#endif
