/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KL_EVENT_SIGNERS_H
#define KL_EVENT_SIGNERS_H

#include "event/keygen.h"
#include "repo/repo.h"
#include "text/digest.h"

/*
 * signers - reads the lists of allowed signers, which decide which signatures count.
 *
 * There are two lists: the user's own file, gpg.ssh.allowedSignersFile, and the repository's file,
 * .klineage/allowed_signers. The latter is read at the commit that klineage.signers names, normally
 * the base branch, such as origin/main. It is never read from the worktree or a branch under
 * review, since whoever wrote these could have added a key. gpg.ssh.revocationFile revokes keys of
 * both lists.
 *
 *	kl_signers_open(&s, repo, NULL);	read the list at klineage.signers
 *	kl_signers_open(&s, repo, &base);	read the list at `base`, if klineage.signers is set
 */
#define KL_SIGNERS_FILE ".klineage/allowed_signers"
#define KL_SIGNERS_MAX ((size_t)1 << 20) /* maximum number of bytes of a list */

struct kl_signers;

/**
 * Load the lists. A list that does not exist counts as empty. Return KL_EINVALID if a list is too
 * long, or the repository's list is not a regular file.
 */
int kl_signers_open(struct kl_signers **out, struct kl_repo *repo, const git_oid *base);
/** Use this text as the only list. */
int kl_signers_open_text(struct kl_signers **out, struct kl_repo *repo, const char *text,
			 size_t len);
void kl_signers_free(struct kl_signers *signers);
KL_DEFINE_CLEANUP(struct kl_signers *, kl_signers_free)

/**
 * Return true if neither gpg.ssh.allowedSignersFile nor klineage.signers is set: nobody is allowed.
 */
bool kl_signers_none(const struct kl_signers *signers);
/**
 * Return the digest of the lists and of the program that checks signatures, for the keys of caches.
 */
const char *kl_signers_digest(const struct kl_signers *signers);
/**
 * Set `*path` to a file with both lists for ssh-keygen, which the first call writes. It is NULL if
 * there is no list.
 */
int kl_signers_path(const char **path, struct kl_signers *signers);
/** Return the path in gpg.ssh.revocationFile; NULL if not set. */
const char *kl_signers_revoked(const struct kl_signers *signers);
const struct kl_keygen *kl_signers_keygen(const struct kl_signers *signers);
struct kl_repo *kl_signers_repo(const struct kl_signers *signers);

/**
 * Get the merge base of `head` and the branch that klineage.signers names. Set *there to false if
 * there is none: klineage.signers is not set, or there is no such branch, or it has no common
 * ancestor with `head`.
 */
int kl_signers_merge_base(bool *there, git_oid *out, struct kl_repo *repo, const git_oid *head);
/**
 * Set *out to true if the branch that klineage.signers names has commits of the range from `base`
 * to `head`. These commits may have changed the list at the tip of the branch, so the list must be
 * read at `base` instead.
 */
int kl_signers_in_range(bool *out, struct kl_repo *repo, const git_oid *base, const git_oid *head);

/** Append the repository's list at a commit. Return KL_ENOTFOUND if the commit has no list. */
int kl_signers_of_commit(struct kl_buf *out, struct kl_repo *repo, const git_oid *commit);

#endif
