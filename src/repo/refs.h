/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_REPO_REFS_H
#define KL_REPO_REFS_H

#include "repo/repo.h"

/*
 * refs - reads refs, and moves several in one transaction.
 *
 *	KL_AUTO(kl_refs_txn_freep) struct kl_refs_txn *t = kl_refs_txn_new(repo);
 *	kl_refs_txn_create(t, "refs/heads/klineage/...", &tip);
 *	kl_refs_txn_update(t, "refs/klineage/op/main", &new, &old);
 *	err = kl_refs_txn_commit(t, "klineage deopt: step 3");
 *
 * Commit goes through one `git update-ref --stdin` fed a finished file, so it
 * is all or nothing. KL_ECHANGED: a ref was not at its old value, none moved.
 * KL_EBUSY: another git held a ref's lock for longer than a moment.
 * Refs outside refs/heads, refs/notes get a reflog on creation.
 */
int kl_refs_get(git_oid *out, struct kl_repo *repo, const char *ref); /* KL_ENOTFOUND */

struct kl_ref {
	char *name;
	git_oid oid;
};
struct kl_ref_list {
	struct kl_ref *ref;
	size_t n, alloc;
};
/** All refs under a prefix ("refs/heads/klineage/"), sorted. */
int kl_refs_list(struct kl_ref_list *out, struct kl_repo *repo, const char *prefix);
void kl_ref_list_release(struct kl_ref_list *list);

/** Does a worktree stand on this branch? Moving it would leave that one behind. */
int kl_refs_is_checked_out(bool *out, struct kl_repo *repo, const char *ref);

/**
 * Could `ref` be created? KL_EEXISTS if it is there, KL_EINVALID for an ill
 * name or a directory/file conflict ("a branch called klineage"), saying what
 * to do.
 */
int kl_refs_can_create(struct kl_repo *repo, const char *ref);

struct kl_refs_txn;
struct kl_refs_txn *kl_refs_txn_new(struct kl_repo *repo);
void kl_refs_txn_free(struct kl_refs_txn *txn);
KL_DEFINE_CLEANUP(struct kl_refs_txn *, kl_refs_txn_free)
/** Must not exist. */
void kl_refs_txn_create(struct kl_refs_txn *txn, const char *ref, const git_oid *oid);
/** `old` NULL or zero: must not exist. */
void kl_refs_txn_update(struct kl_refs_txn *txn, const char *ref, const git_oid *oid,
			const git_oid *old);
void kl_refs_txn_delete(struct kl_refs_txn *txn, const char *ref, const git_oid *old);
void kl_refs_txn_verify(struct kl_refs_txn *txn, const char *ref, const git_oid *old);
int kl_refs_txn_commit(struct kl_refs_txn *txn, const char *reflog);

/**
 * After a crash, by what our journal ($GIT_COMMON_DIR/klineage/txn) tells:
 * remove the `<ref>.lock` files that the killed transaction left, and finish
 * moving the refs if some had moved already. A lock is only removed while
 * our flock is ours, its content is the value we recorded (an empty one: lies
 * untouched since then), and no update-ref of ours is alive; others stay.
 * `*cleared` counts them. Each commit does the same first. docs/formats.md, "Refs".
 */
int kl_refs_recover(struct kl_repo *repo, int *cleared);

#endif
