/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_APPLY_MATERIALIZE_LOG_H
#define KL_APPLY_MATERIALIZE_LOG_H

#include "apply/materialize.h"
#include "contract/surface.h"

/*
 * materialize_log - reads the record of a materialize run from its chain (card_commit.h). A resumed
 * run uses the record, so that it judges and commits no edit twice.
 */
struct kl_materialize_logged {
	git_oid commit, parent, tree;
	enum kl_materialize_outcome outcome;
	char *class_; /* class of the failure; "" if the edit did not fail */
};

struct kl_materialize_log {
	struct kl_materialize_logged *v; /* oldest first */
	size_t n, alloc;
	bool there;   /* the chain exists */
	git_oid root; /* commit of the chain's first link: the root of the run */
};

/**
 * Read the chain; if it does not exist, `there` is false. Return KL_EINVALID if the ref is not a
 * chain of a materialize run.
 */
int kl_materialize_log_load(struct kl_materialize_log *out, struct kl_repo *repo,
			    const char *chain);
void kl_materialize_log_release(struct kl_materialize_log *log);

/** Find the last attempt that made `tree` from `parent`; borrowed. Return NULL if there is none. */
const struct kl_materialize_logged *kl_materialize_log_find(const struct kl_materialize_log *log,
							    const git_oid *parent,
							    const git_oid *tree);
/**
 * Get the last event in a commit's note that judged `surface`. An event that compares it with `on`
 * (may be NULL) is preferred. `*out` is NULL if there is no event of `surface`.
 */
int kl_materialize_log_event(struct kl_event **out, struct kl_repo *repo, const git_oid *commit,
			     const struct kl_surface *surface, const struct kl_surface *on);

#endif
