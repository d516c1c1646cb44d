/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_APPLY_MATERIALIZE_LOG_H
#define KL_APPLY_MATERIALIZE_LOG_H

#include "apply/materialize.h"
#include "contract/surface.h"

/*
 * materialize_log - the record of a materialize run, read from its chain (card_commit.h): the same
 * edit of the same commit is neither judged nor kept a second time.
 */
struct kl_materialize_logged {
	git_oid commit, parent, tree;
	enum kl_materialize_outcome outcome;
	char *class_; /* of a failure; "" */
};

struct kl_materialize_log {
	struct kl_materialize_logged *v; /* oldest first */
	size_t n, alloc;
	bool there;   /* the chain exists */
	git_oid root; /* its first link's: where the run began */
};

/** No chain is no error. KL_EINVALID: it is none of ours. */
int kl_materialize_log_load(struct kl_materialize_log *out, struct kl_repo *repo,
			    const char *chain);
void kl_materialize_log_release(struct kl_materialize_log *log);

/** What came of that tree on that commit, the last time; or NULL. */
const struct kl_materialize_logged *kl_materialize_log_find(const struct kl_materialize_log *log,
							    const git_oid *parent,
							    const git_oid *tree);
/** The event in its note by which it was judged; `*out` NULL: it is gone. */
int kl_materialize_log_event(struct kl_event **out, struct kl_repo *repo, const git_oid *commit,
			     const struct kl_surface *surface, const struct kl_surface *on);

#endif
