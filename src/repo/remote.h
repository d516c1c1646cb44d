/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REPO_REMOTE_H
#define KL_REPO_REMOTE_H

#include "repo/refs.h"

/*
 * remote - a configured remote, asked through git itself: its refs, fetch, push. git's own
 * configuration, credentials and protocols hold; nothing else touches the network. What a remote
 * says is hostile: names and numbers are bounded, and its objects are to be verified by whoever
 * uses them.
 */

/** KL_ENOTFOUND: no remote of that name is configured; the ones there are come as a hint. */
int kl_remote_check(struct kl_repo *repo, const char *remote);
/** Names of the configured remotes, sorted. */
void kl_remote_names(struct kl_strvec *out, struct kl_repo *repo);

/**
 * Its refs below any of these prefixes ("refs/notes/klineage/"), sorted; KL_EINVALID: more than
 * `max`.
 */
int kl_remote_list(struct kl_ref_list *out, struct kl_repo *repo, const char *remote,
		   const char *const *prefix, size_t max);

/**
 * Fetch by refspecs ("+refs/notes/x:refs/notes/remotes/origin/x"), which move nothing but what
 * they name. Objects are checked (fetch.fsckObjects unless the user says otherwise), and no pack
 * may have more than `max_bytes`. KL_ECHANGED: a ref went away meanwhile.
 */
int kl_remote_fetch(struct kl_repo *repo, const char *remote, const struct kl_strvec *refspec,
		    uint64_t max_bytes);

struct kl_push {
	char *ref;
	git_oid to, from; /* from: what it is at the remote now; zero: not there */
	char *why;        /* by the push: why the remote does not take it */
};
struct kl_pushes {
	struct kl_push *v;
	size_t n, alloc;
	bool no_verify; /* without the user's hooks: from inside one */
};
void kl_pushes_release(struct kl_pushes *pushes);
void kl_pushes_add(struct kl_pushes *pushes, const char *ref, const git_oid *to,
		   const git_oid *from);

/**
 * Push all or none, each only if the remote's ref is still where `from` says. KL_ECHANGED: it was
 * not done, and each `why` says so; kl_error_last() has the remote's words.
 */
int kl_remote_push(struct kl_repo *repo, const char *remote, struct kl_pushes *pushes);

/** A set of tips: what is to go, or what is known to be there. */
struct kl_oids {
	git_oid *v;
	size_t n, alloc;
};
void kl_oids_release(struct kl_oids *oids);
void kl_oids_add(struct kl_oids *oids, const git_oid *oid);

/**
 * Commits that `tips` reach and neither `there` (NULL: nothing; ids that are not in this clone are
 * skipped), nor a branch or tracking ref of the remote does, as far as this clone knows. Newest
 * first, at most `max`. The array is the caller's.
 */
int kl_repo_not_at_remote(git_oid **out, size_t *n, struct kl_repo *repo,
			  const struct kl_oids *tips, const struct kl_oids *there,
			  const char *remote, size_t max);

/** The values of a multi-valued key, "remote.origin.fetch", from the repository's own file. */
int kl_remote_config_get(struct kl_strvec *out, struct kl_repo *repo, const char *key);
int kl_remote_config_add(struct kl_repo *repo, const char *key, const char *value);
/** Remove that one value; absent is fine. */
int kl_remote_config_remove(struct kl_repo *repo, const char *key, const char *value);

#endif
