/* SPDX-License-Identifier: Apache-2.0 */
#include "event/signers.h"

#include <string.h>

#include "base/error.h"
#include "base/fs.h"

struct kl_signers {
	struct kl_repo *repo; /* borrowed */
	struct kl_keygen keygen;
	struct kl_buf text; /* both lists */
	char *revoked;
	char digest[KL_DIGEST_HEX];
	char *dir, *path; /* private directory, and the file with both lists; NULL if not written */
	bool none;        /* there is no list */
};

void kl_signers_free(struct kl_signers *signers)
{
	if (!signers)
		return;
	kl_keygen_release(&signers->keygen);
	kl_buf_release(&signers->text);
	free(signers->revoked);
	free(signers->path);
	kl_fs_tempdir_cleanup(&signers->dir);
	free(signers);
}

bool kl_signers_none(const struct kl_signers *signers)
{
	return signers->none;
}

const char *kl_signers_digest(const struct kl_signers *signers)
{
	return signers->digest;
}

const char *kl_signers_revoked(const struct kl_signers *signers)
{
	return signers->revoked;
}

const struct kl_keygen *kl_signers_keygen(const struct kl_signers *signers)
{
	return &signers->keygen;
}

struct kl_repo *kl_signers_repo(const struct kl_signers *signers)
{
	return signers->repo;
}

/* --- the lists --------------------------------------------------------------------- */

/* Add the user's own list. As in git, a file that does not exist allows nobody. */
static int add_user_list(struct kl_signers *signers)
{
	KL_AUTO(kl_freep)
	char *path = kl_keygen_path(signers->repo, "gpg.ssh.allowedSignersFile");
	int err = path && kl_fs_exists(path) ? kl_fs_read(&signers->text, path, KL_SIGNERS_MAX) : 0;

	signers->none = !path;
	kl_buf_addch(&signers->text, '\n');
	return err < 0 ? kl_error_in(err, "gpg.ssh.allowedSignersFile") : 0;
}

int kl_signers_of_commit(struct kl_buf *out, struct kl_repo *repo, const git_oid *commit)
{
	git_oid tree, blob;
	uint32_t mode = 0;
	int err;

	if ((err = kl_repo_tree_of(&tree, repo, commit)) < 0 ||
	    (err = kl_repo_tree_entry(&blob, &mode, repo, &tree, KL_SIGNERS_FILE)) < 0)
		return err;
	if (mode != 0100644 && mode != 0100755)
		return kl_error(KL_EINVALID, "'" KL_SIGNERS_FILE "' is not a regular file");
	err = kl_repo_blob_read(out, repo, &blob, KL_SIGNERS_MAX);
	return err < 0 ? kl_error_in(err, KL_SIGNERS_FILE) : 0;
}

/* Add the repository's list at `base`, or at the base branch if `base` is NULL. */
static int add_base_list(struct kl_signers *signers, const git_oid *base)
{
	const char *rev = kl_repo_config(signers->repo, "klineage.signers");
	git_oid commit;
	int err = 0;

	if (!rev || !*rev)
		return 0;
	signers->none = false;
	if (base)
		commit = *base;
	else
		err = kl_repo_resolve(&commit, signers->repo, rev);
	if (!err)
		err = kl_signers_of_commit(&signers->text, signers->repo, &commit);
	if (err == KL_ENOTFOUND) { /* the branch or the file does not exist: nobody is allowed */
		kl_error_clear();
		return 0;
	}
	return err < 0 ? kl_error_in(err, "klineage.signers (%s)", rev) : 0;
}

static int add_digest(struct kl_signers *signers)
{
	KL_AUTO(kl_buf_release) struct kl_buf revoked = KL_BUF_INIT;
	struct kl_digest *digest;
	int err = signers->revoked && kl_fs_exists(signers->revoked) ?
			  kl_fs_read(&revoked, signers->revoked, 16 * KL_SIGNERS_MAX) :
			  0;

	if (err < 0)
		return kl_error_in(err, "gpg.ssh.revocationFile");
	digest = kl_digest_new();
	kl_digest_adds(digest, signers->keygen.program);
	kl_digest_adds(digest, signers->text.ptr);
	kl_digest_adds(digest, signers->revoked ? "revoked" : "");
	kl_digest_add(digest, revoked.ptr, revoked.len);
	kl_digest_end(digest, signers->digest);
	return 0;
}

static struct kl_signers *new_signers(struct kl_repo *repo)
{
	struct kl_signers *signers = kl_calloc(1, sizeof(*signers));

	signers->repo = repo;
	signers->text = (struct kl_buf)KL_BUF_INIT;
	signers->revoked = kl_keygen_path(repo, "gpg.ssh.revocationFile");
	kl_keygen_init(&signers->keygen, repo);
	return signers;
}

int kl_signers_open_text(struct kl_signers **out, struct kl_repo *repo, const char *text,
			 size_t len)
{
	KL_AUTO(kl_signers_freep) struct kl_signers *signers = new_signers(repo);
	int err;

	kl_buf_add(&signers->text, text, len);
	if ((err = add_digest(signers)) < 0)
		return err;
	*out = kl_steal(&signers);
	return 0;
}

int kl_signers_open(struct kl_signers **out, struct kl_repo *repo, const git_oid *base)
{
	KL_AUTO(kl_signers_freep) struct kl_signers *signers = new_signers(repo);
	int err;

	if ((err = add_user_list(signers)) < 0 || (err = add_base_list(signers, base)) < 0 ||
	    (err = add_digest(signers)) < 0)
		return err;
	*out = kl_steal(&signers);
	return 0;
}

int kl_signers_path(const char **path, struct kl_signers *signers)
{
	int err = 0;

	*path = signers->path;
	if (signers->path || signers->none)
		return 0;
	if (!signers->dir)
		err = kl_fs_tempdir(&signers->dir, "klineage-sign");
	if (err < 0)
		return err;
	signers->path = kl_fs_join(signers->dir, "allowed_signers");
	*path = signers->path;
	return kl_fs_put(signers->path, signers->text.ptr, signers->text.len, 0600);
}

int kl_signers_merge_base(bool *there, git_oid *out, struct kl_repo *repo, const git_oid *head)
{
	const char *rev = kl_repo_config(repo, "klineage.signers");
	git_oid signers;
	int err;

	*there = false;
	if (!rev || !*rev)
		return 0;
	err = kl_repo_resolve(&signers, repo, rev);
	if (!err)
		err = kl_repo_merge_base(out, repo, &signers, head);
	if (err == KL_ENOTFOUND) {
		kl_error_clear();
		return 0;
	}
	*there = !err;
	return err;
}

int kl_signers_in_range(bool *out, struct kl_repo *repo, const git_oid *base, const git_oid *head)
{
	git_oid shared;
	bool there, before = false;
	int err = kl_signers_merge_base(&there, &shared, repo, head);

	*out = false;
	if (err < 0 || !there)
		return err;
	err = kl_repo_is_ancestor(&before, repo, &shared, base);
	*out = !err && !before;
	return err;
}
