/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REPO_REFS_H
#define KL_REPO_REFS_H

#include "repo/repo.h"

/*
 * refs - reads refs, and updates several refs in one transaction.
 *
 *	KL_AUTO(kl_refs_txn_freep) struct kl_refs_txn *t = kl_refs_txn_new(repo);
 *	kl_refs_txn_create(t, "refs/heads/klineage/...", &tip);
 *	kl_refs_txn_update(t, "refs/klineage/op/main", &new, &old);
 *	err = kl_refs_txn_commit(t, "klineage deopt: step 3");
 *
 * kl_refs_txn_commit() runs one `git update-ref --stdin`, so that either all refs move or no ref
 * moves. It returns KL_ECHANGED if a ref did not have its old value; no ref then moves. It returns
 * KL_EBUSY if another git process held the lock of a ref during all retries. Every ref gets a
 * reflog.
 */
/** Get the value of a ref. Return KL_ENOTFOUND if the ref does not exist. */
int kl_refs_get(git_oid *out, struct kl_repo *repo, const char *ref);

struct kl_ref {
	char *name;
	git_oid oid;
};
struct kl_ref_list {
	struct kl_ref *ref;
	size_t n, alloc;
};
/** List all refs whose names start with `prefix` ("refs/heads/klineage/"), sorted. */
int kl_refs_list(struct kl_ref_list *out, struct kl_repo *repo, const char *prefix);
void kl_ref_list_release(struct kl_ref_list *list);

/**
 * Set *out to true if this branch is checked out in a worktree. Moving such a branch would make the
 * worktree look modified.
 */
int kl_refs_is_checked_out(bool *out, struct kl_repo *repo, const char *ref);

/**
 * Check that `ref` can be created. Return KL_EEXISTS if the ref exists. Return KL_EINVALID if the
 * name is invalid, or there is a directory/file conflict (for example with a branch called
 * "klineage"). A hint says how to resolve it.
 */
int kl_refs_can_create(struct kl_repo *repo, const char *ref);

struct kl_refs_txn;
struct kl_refs_txn *kl_refs_txn_new(struct kl_repo *repo);
void kl_refs_txn_free(struct kl_refs_txn *txn);
KL_DEFINE_CLEANUP(struct kl_refs_txn *, kl_refs_txn_free)
/** Create a ref, which must not exist. */
void kl_refs_txn_create(struct kl_refs_txn *txn, const char *ref, const git_oid *oid);
/** Update a ref whose value must be `old`. If `old` is NULL or zero, the ref must not exist. */
void kl_refs_txn_update(struct kl_refs_txn *txn, const char *ref, const git_oid *oid,
			const git_oid *old);
/** Delete a ref whose value must be `old`; NULL if the ref can have any value. */
void kl_refs_txn_delete(struct kl_refs_txn *txn, const char *ref, const git_oid *old);
/** Require that a ref has the value `old` or, if `old` is NULL or zero, does not exist. */
void kl_refs_txn_verify(struct kl_refs_txn *txn, const char *ref, const git_oid *old);
int kl_refs_txn_commit(struct kl_refs_txn *txn, const char *reflog);

/**
 * Recover from a crash with the journal ($GIT_COMMON_DIR/klineage/txn): remove the lock files that
 * the killed transaction left, and if some refs had moved, move the other refs as well. A lock file
 * is removed only while we hold our flock and no update-ref of ours is running. The file must also
 * contain the value that the journal records for its ref, or be empty, not older than the journal,
 * and unmodified for two seconds. `*cleared` is the number of lock files removed.
 * kl_refs_txn_commit() does this first. See docs/formats.md, "Refs".
 */
int kl_refs_recover(struct kl_repo *repo, int *cleared);

#endif
