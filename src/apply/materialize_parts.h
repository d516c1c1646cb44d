/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_APPLY_MATERIALIZE_PARTS_H
#define KL_APPLY_MATERIALIZE_PARTS_H

#include "apply/materialize_log.h"

/*
 * materialize_parts - what the files of materialize share: a run in progress. Inside src/apply
 * only.
 */
#define KL_MATERIALIZE_ATTEMPTS 256                   /* cards tried in one run, on all nodes */
#define KL_MATERIALIZE_BUILD_ON 3                     /* steps more on a node that is not faster */
#define KL_MATERIALIZE_PREFIX_MAX ((size_t)256 << 10) /* of cards in a conversation, bytes */

struct kl_materialize_run {
	const struct kl_materialize_opts *o;
	struct kl_materialization *m;
	struct kl_materialize_log log;
	char *platform;
	git_oid tip;   /* of the branch; zero: it is not there yet */
	size_t judged; /* changes, by the gate, in this run */
};

/** The cards that fit a node, without those that are to be left out. */
int kl_materialize_pool(struct kl_retrieval *out, const struct kl_materialize_run *run,
			size_t node);

/** An edit of a node, on its way to be judged. */
struct kl_materialize_edit {
	const struct kl_card *card;     /* NULL: by none */
	const char *action, *mechanism; /* of a model; NULL: the card's */
	const char *how;
	struct kl_surface **to; /* taken */
};
/** Fill in what came of it: from the log, or by the gate; then it is kept, and a node. */
int kl_materialize_settle(struct kl_materialize_attempt *trial, struct kl_materialize_run *run,
			  const struct kl_materialize_edit *edit);
/** Takes what `trial` owns; where it stands. */
size_t kl_materialize_add_attempt(struct kl_materialize_run *run,
				  struct kl_materialize_attempt *trial);

/** Every mechanical carrier from the best on, until that moves no more. */
int kl_materialize_climb(struct kl_materialize_run *run);
/** The model, and after each of its steps forward the carriers again (materialize_agent.c). */
int kl_materialize_ask(struct kl_materialize_run *run);

#endif
