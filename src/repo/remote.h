/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REPO_REMOTE_H
#define KL_REPO_REMOTE_H

#include "repo/refs.h"

/*
 * remote - lists, fetches from and pushes to configured remotes by running git. git's own
 * configuration, credentials and protocols apply; nothing else in src/repo uses the network. Data
 * from a remote is untrusted: names and numbers are limited here, and callers must verify the
 * objects that they use.
 */

/**
 * Check that a remote of that name is configured. Return KL_ENOTFOUND if there is no such remote;
 * hints list the configured remotes.
 */
int kl_remote_check(struct kl_repo *repo, const char *remote);
/** Append the names of the configured remotes, sorted. */
void kl_remote_names(struct kl_strvec *out, struct kl_repo *repo);

/**
 * List the refs of the remote whose names start with one of the prefixes ("refs/notes/klineage/";
 * NULL-terminated), sorted. Return KL_EINVALID if there are more than `max` such refs.
 */
int kl_remote_list(struct kl_ref_list *out, struct kl_repo *repo, const char *remote,
		   const char *const *prefix, size_t max);

/**
 * Fetch by refspecs such as "+refs/notes/x:refs/notes/remotes/origin/x". Only the refs that the
 * refspecs name are updated. Objects are checked (fetch.fsckObjects is on, unless the user has set
 * this option or transfer.fsckObjects). Return KL_EINVALID if the remote sends more than
 * `max_bytes` (0 if there is no limit). Return KL_ECHANGED if the remote deleted a ref during the
 * fetch.
 */
int kl_remote_fetch(struct kl_repo *repo, const char *remote, const struct kl_strvec *refspec,
		    uint64_t max_bytes);

struct kl_push {
	char *ref;
	/* new value, and the remote's current value (zero if there is no such ref) */
	git_oid to, from;
	/*
	 * set by kl_remote_push(): the reason why the remote rejected the ref; NULL if not rejected
	 */
	char *why;
};
struct kl_pushes {
	struct kl_push *v;
	size_t n, alloc;
	bool no_verify; /* do not run the user's hooks, for a push from inside a hook */
};
void kl_pushes_release(struct kl_pushes *pushes);
void kl_pushes_add(struct kl_pushes *pushes, const char *ref, const git_oid *to,
		   const git_oid *from);

/**
 * Push all refs or none, and only if each ref of the remote still has its `from` value. Return
 * KL_ECHANGED if the remote rejected the push; `why` is set for the rejected refs, and the message
 * includes the remote's own message.
 */
int kl_remote_push(struct kl_repo *repo, const char *remote, struct kl_pushes *pushes);

/** A list of object ids: tips to push, or tips that the remote is known to have. */
struct kl_oids {
	git_oid *v;
	size_t n, alloc;
};
void kl_oids_release(struct kl_oids *oids);
void kl_oids_add(struct kl_oids *oids, const git_oid *oid);

/**
 * List the commits that are reachable from `tips`, but neither from `there` nor from this clone's
 * tracking refs of the remote. `there` can be NULL; ids in it that are not in this clone are
 * skipped. Newest first, at most `max`. The caller frees the array.
 */
int kl_repo_not_at_remote(git_oid **out, size_t *n, struct kl_repo *repo,
			  const struct kl_oids *tips, const struct kl_oids *there,
			  const char *remote, size_t max);

/** Append all values of a key such as "remote.origin.fetch" in the repository's own config file. */
int kl_remote_config_get(struct kl_strvec *out, struct kl_repo *repo, const char *key);
/** Add a value to a key in the repository's own config file. */
int kl_remote_config_add(struct kl_repo *repo, const char *key, const char *value);
/** Remove one value of a key. It is no error if the key does not have this value. */
int kl_remote_config_remove(struct kl_repo *repo, const char *key, const char *value);

#endif
